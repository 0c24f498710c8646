"""Watermarks of sources, and where a source with a lookback begins to read."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from engine.design.project import Project
from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.watermarks import (
    Watermark,
    all_watermarks,
    missing_sources,
    read_watermarks,
    write_watermark,
)
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.imports.described_sources import ORDERS, describe, import_described
from tests.pipeline.working_store import WorkingStore

NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)
MARK = Watermark(imported_at=NOON, newest_at=None, rows=3, new_rows=2, rejected=1)
LOOKBACK = {
    'location = "orders.parquet"': 'location = "shop.duckdb"\nsql_file = "orders.sql"\nlookback_days = 2',
    'timestamp = "at"': 'timestamp = "ordered"',
}


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def order(path: Path, *days_ago: int) -> None:
    """Add orders with their times in a column of each type."""
    with duckdb.connect(str(path)) as shop:
        shop.execute("SET TimeZone = 'UTC'")
        shop.execute("""CREATE TABLE IF NOT EXISTS orders
            (id text, who text, ordered timestamptz, local timestamp, paid double, order_number text)""")
        for days in days_ago:
            at = NOON - timedelta(days=days)
            name = f"{days} days ago"
            shop.execute("INSERT INTO orders VALUES (?, ?, ?, ?, 9, ?)", [name, name, at, at, name])


def test_watermarks_are_kept_by_project_and_source(tmp_path: Path) -> None:
    write_watermark(tmp_path, "prj_1", "orders", MARK)
    write_watermark(tmp_path, "prj_1", "exposures", MARK)
    write_watermark(tmp_path, "prj_2", "orders", MARK)
    assert read_watermarks(tmp_path, "prj_1") == {"orders": MARK, "exposures": MARK}
    assert all_watermarks(tmp_path, "exposures") == {"prj_1": MARK}


def test_an_experiment_waits_for_sources_that_are_not_imported_or_not_counted(tmp_path: Path) -> None:
    seen = replace(MARK, experiments=("exp_1",), awaits=("calls", "orders"))
    write_watermark(tmp_path, "prj_1", "seen", seen)
    assert missing_sources(tmp_path, "prj_1", "exp_1") == ("calls", "orders")
    assert missing_sources(tmp_path, "prj_1", "exp_2") == missing_sources(tmp_path, "prj_2", "exp_1") == ()
    write_watermark(tmp_path, "prj_1", "orders", replace(MARK, imported_at=NOON + timedelta(hours=1)))
    assert missing_sources(tmp_path, "prj_1", "exp_1") == ("calls",)
    write_watermark(tmp_path, "prj_1", "calls", MARK)
    assert missing_sources(tmp_path, "prj_1", "exp_1") == ()
    assert missing_sources(tmp_path, "prj_1", "exp_1", counted_until=NOON) == ("orders",)
    assert missing_sources(tmp_path, "prj_1", "exp_2", counted_until=NOON) == ()


@pytest.mark.parametrize("column", ["ordered", "local"])
def test_a_lookback_reads_what_is_new_and_what_is_late_by_less(
    tmp_path: Path, store: WorkingStore, project: Project, column: str
) -> None:
    described = describe(tmp_path, "orders", ORDERS, LOOKBACK)
    (tmp_path / "orders.sql").write_text(f"SELECT * FROM orders WHERE {column} >= {{since}};")  # noqa: S608 - one of two names
    found = []
    # The last order comes too late.
    for new in ((30, 5), (4,), (), (1, 2), (3,), (6,)):
        order(tmp_path / "shop.duckdb", *new)
        (imported,) = import_described(store, project, described)
        assert imported.watermark.newest_at is not None
        found.append(
            (imported.watermark.rows, imported.watermark.new_rows, (NOON - imported.watermark.newest_at).days)
        )
    assert found == [(2, 2, 5), (2, 1, 4), (2, 0, 4), (4, 2, 1), (3, 1, 1), (3, 0, 1)]
    assert count_by_type(store.warehouse, project.id) == {"conversion": 6}


def test_an_empty_read_keeps_how_far_the_source_came(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    described = describe(tmp_path, "orders", ORDERS, LOOKBACK)
    (tmp_path / "orders.sql").write_text("SELECT * FROM orders WHERE ordered >= {since}")
    order(tmp_path / "shop.duckdb", 5)
    import_described(store, project, described)
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as shop:
        shop.execute("DELETE FROM orders")
    (imported,) = import_described(store, project, described)
    assert (imported.watermark.rows, imported.watermark.newest_at) == (0, NOON - timedelta(days=5))


def test_a_lookback_and_its_place_need_one_another(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    order(tmp_path / "shop.duckdb", 1)
    (tmp_path / "orders.sql").write_text("SELECT * FROM orders")
    with pytest.raises(UnreadableSourceError, match=r"lookback_days and \{since\} in the query need one an"):
        import_described(store, project, describe(tmp_path, "orders", ORDERS, LOOKBACK))
    (tmp_path / "orders.sql").write_text("SELECT * FROM orders WHERE ordered >= {since}")
    without = {old: new.replace("\nlookback_days = 2", "") for old, new in LOOKBACK.items()}
    with pytest.raises(UnreadableSourceError, match=r"lookback_days and \{since\} in the query need one an"):
        import_described(store, project, describe(tmp_path, "orders", ORDERS, without))
