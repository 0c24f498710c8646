"""Counts of a warehouse: sums come back and nothing else, and the service reports them as ever."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from engine.design import lifecycle
from engine.design.project import Project
from pipeline.imports.imported_experiment import ImportRefusedError
from pipeline.imports.source_import import ImportedSource
from pipeline.results.filters import SegmentFilters
from pipeline.runs.own_imports import import_own_source
from pipeline.sources.definition_files import DefinedSource, InvalidSourceError
from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.watermarks import read_watermarks
from pipeline.store.warehouse import published
from pipeline.verification import sample_shop
from pipeline.verification.verify_dialect import verify_dialect
from pipeline.warehouse.dialects.duckdb_dialect import DUCKDB
from pipeline.warehouse.team_warehouse import TeamWarehouse
from tests.pipeline.warehouse.described_warehouse import (
    EXPOSURES,
    ORDERS,
    SOURCE,
    a_warehouse,
    described,
)
from tests.pipeline.working_store import WorkingStore, a_working_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.fixture
def on_duckdb(tmp_path: Path) -> DefinedSource:
    return a_warehouse(tmp_path)


@pytest.fixture
def on_postgresql(tmp_path: Path, new_database: Callable[[], str]) -> DefinedSource:
    url = new_database()
    with psycopg.connect(url) as connection:
        connection.execute(EXPOSURES.encode())
        connection.execute(ORDERS.encode())
    return described(tmp_path, url)


def _count(store: WorkingStore, project: Project, defined: DefinedSource) -> ImportedSource:
    return import_own_source(store, project, defined, lambda _stage, _done: None)


def _numbers(store: WorkingStore, project: Project, **segment: str) -> tuple[list[int], list[int]]:
    """Return visitors by variant, and conversions on the first goal, with the values of a segment."""
    (experiment,) = store.catalog.experiments.of_project(project.id)
    filters = SegmentFilters.from_query(segment)
    evidence = store.results.evidence(experiment, project, filters, now=store.clock())
    return evidence.visitors.tolist(), evidence.conversions[0].tolist()


def test_a_count_publishes_what_the_tables_hold(store: WorkingStore, on_duckdb: DefinedSource) -> None:
    project = store.add_project()
    found = _count(store, project, on_duckdb)
    # Of 566 rows this many sums leave the file.
    assert (found.imported.known_rows, found.imported.rows) == (566, 0)
    assert found.sums is not None
    assert found.sums < 200
    assert _numbers(store, project) == ([200, 200], [66, 100])
    assert _numbers(store, project, custom_dimension_key="plan", custom_dimension_value="pro") == (
        [40, 40],
        [13, 20],
    )
    with store.warehouse.cursor() as cursor:
        stored = cursor.execute(
            "SELECT sum(estimated_size) FROM duckdb_tables() WHERE table_name LIKE 'visitors_%'"
        )
        assert stored.fetchall() == [(0,)]


def test_postgresql_gives_the_same_results_as_duckdb(
    store: WorkingStore, on_duckdb: DefinedSource, on_postgresql: DefinedSource
) -> None:
    reports = []
    for defined in (on_duckdb, on_postgresql):
        project = store.add_project()
        (experiment,) = _count(store, project, defined).experiments
        report = store.results.report(experiment, project, now=store.clock())
        reports.append([one.comparison for goal in report.goals for one in goal.variants])
    assert reports[0] == reports[1]


def test_a_second_count_of_the_same_rows_changes_nothing(
    store: WorkingStore, on_duckdb: DefinedSource
) -> None:
    project = store.add_project()
    _count(store, project, on_duckdb)
    digests = []
    for _ in range(2):
        (experiment,) = _count(store, project, on_duckdb).experiments
        with store.warehouse.cursor() as cursor:
            record = published.find(cursor, experiment.id)
        assert record is not None
        digests.append(record.sums_digest)
    assert digests[0] == digests[1]
    assert len(store.catalog.experiments.of_project(project.id)) == 1


def test_a_count_of_more_rows_than_allowed_is_refused(store: WorkingStore, on_duckdb: DefinedSource) -> None:
    few = described(on_duckdb.folder, "shop.duckdb", SOURCE.replace("10_000", "500"))
    with pytest.raises(UnreadableSourceError, match="has 566 rows, and max_rows is 500"):
        _count(store, store.add_project(), few)


def test_the_rows_of_a_month_have_a_limit(store: WorkingStore, on_duckdb: DefinedSource) -> None:
    project = store.add_project()
    text = SOURCE.replace("max_rows = 10_000", "max_rows = 10_000\nmax_rows_a_month = 1_000")
    defined = described(on_duckdb.folder, "shop.duckdb", text)
    found = _count(store, project, defined)
    assert (found.watermark.month_rows, found.watermark.rows) == (566, 566)
    with pytest.raises(UnreadableSourceError, match=r"read 566 rows .* max_rows_a_month, 1,000"):
        _count(store, project, defined)
    # What was published stays, and so does what was charged.
    assert read_watermarks(store.settings.data_dir, project.id) == {"shop": found.watermark}
    assert _numbers(store, project)[0] == [200, 200]


def test_segment_values_of_few_visitors_are_reported_as_one(
    store: WorkingStore, on_duckdb: DefinedSource
) -> None:
    with duckdb.connect(str(on_duckdb.folder / "shop.duckdb")) as connection:
        connection.execute("UPDATE exposures SET plan = 'vip' WHERE visitor IN ('5', '10', '15')")
        connection.execute(
            "UPDATE exposures SET plan = 'trial' WHERE visitor IN ('1', '2', '3', '4', '6', '7')"
        )
        connection.execute("ALTER TABLE exposures ADD COLUMN device_type TEXT DEFAULT 'desktop'")
        connection.execute("UPDATE exposures SET device_type = 'tablet' WHERE visitor = '8'")
    text = SOURCE.replace('segments = ["plan"]', 'segments = ["plan", "device_type"]')
    project = store.add_project()
    (experiment,) = _count(store, project, described(on_duckdb.folder, "shop.duckdb", text)).experiments
    available = store.results.available_segments(experiment)
    assert [(one["key"], one["values"]) for one in available["custom_dimensions"]] == [
        ("plan", ["free", "other", "pro"])
    ]
    # Three with the plan `vip` are too few alone, and one with a tablet is.
    plan = {"custom_dimension_key": "plan", "custom_dimension_value": "other"}
    assert _numbers(store, project, **plan)[0] == [4, 5]
    assert available["device_types"] == ["other"]
    assert _numbers(store, project, device_type="other")[0] == [200, 200]


def test_an_experiment_that_cannot_be_counted_keeps_no_other_from_it(
    store: WorkingStore, on_duckdb: DefinedSource
) -> None:
    with duckdb.connect(str(on_duckdb.folder / "shop.duckdb")) as connection:
        connection.execute("ALTER TABLE exposures ADD COLUMN test TEXT DEFAULT 'Checkout'")
        connection.execute("INSERT INTO exposures SELECT * REPLACE ('Cart' AS test) FROM exposures")
        connection.execute(
            "INSERT INTO exposures SELECT * REPLACE ('Menu' AS test) FROM exposures WHERE test = 'Cart'"
        )
    of_url = '{ name = "Seen", goal_type = "pageview", config = { url = "/cart" } }'
    of_order = '{ name = "Ordered", goal_type = "custom_event", config = { event_name = "purchase" } }'
    text = SOURCE.replace('experiment = "Checkout"\n', "").replace(
        'variant = "arm"', 'variant = "arm"\nexperiment = "test"'
    )
    others = "".join(
        f'[[experiments]]\nname = "{name}"\ncontrol = "A"\ngoals = [{goal}]\n'.replace("{", "{{").replace(
            "}", "}}"
        )
        for name, goal in {"Cart": of_url, "Menu": of_order}.items()
    )
    project = store.add_project()
    defined = described(on_duckdb.folder, "shop.duckdb", text + others)
    with pytest.raises(UnreadableSourceError, match="'Seen' counts events of type pageview"):
        _count(store, project, defined)
    # Those of the two others are read by one statement, and charged once.
    (mark,) = read_watermarks(store.settings.data_dir, project.id).values()
    assert mark.month_rows == 1366
    with store.warehouse.cursor() as cursor:
        counted = {
            one.name: published.find(cursor, one.id) is not None
            for one in store.catalog.experiments.of_project(project.id)
        }
    assert counted == {"Checkout": True, "Cart": False, "Menu": True}


def _with_state(folder: Path, location: str) -> DefinedSource:
    text = SOURCE.replace("max_rows =", 'state_schema = "ours"\nmax_rows =').replace(
        "[exposures.columns]", 'arrived = "came"\n[exposures.columns]'
    )
    return described(folder, location, text.replace("[events.columns]", 'arrived = "came"\n[events.columns]'))


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STATE_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ours'"
CAME = "ALTER TABLE {} ADD COLUMN came TIMESTAMP DEFAULT TIMESTAMP '2026-02-05 00:00:00'"
LATE_ORDER = (
    "INSERT INTO orders VALUES ('2', TIMESTAMP '2026-02-02 00:00:00', 5.0, TIMESTAMP '2026-02-20 00:00:00')"
)


def test_nights_of_new_rows_are_counted_from_a_state_that_is_compared_once_a_week(
    store: WorkingStore, on_duckdb: DefinedSource
) -> None:
    path, project = str(on_duckdb.folder / "shop.duckdb"), store.add_project()

    def change(*statements: str) -> list[Any]:
        with duckdb.connect(path) as connection:
            return [connection.execute(one).fetchall() for one in statements]

    change(*(CAME.format(name) for name in ("exposures", "orders")))
    defined = _with_state(on_duckdb.folder, "shop.duckdb")
    with pytest.raises(UnreadableSourceError, match="Schema with name ours does not exist"):
        _count(store, project, defined)
    change("CREATE SCHEMA ours")
    _count(store, project, defined)
    assert _numbers(store, project) == ([200, 200], [66, 100])
    change(LATE_ORDER)
    _count(store, project, defined)
    assert _numbers(store, project)[1] == [67, 100]
    # Rows that are deleted are no new ones: the next count of everything finds that.
    change("DELETE FROM orders WHERE visitor = '2'")
    assert _count(store, project, defined).drift == ()
    assert _numbers(store, project)[1] == [67, 100]
    change("UPDATE ours.truelift_state SET whole_us = whole_us - 7 * 86400000000")
    found = _count(store, project, defined)
    assert found.drift == tuple(one.id for one in found.experiments)
    assert _numbers(store, project)[1] == [66, 100]
    runs = store.catalog.runs.imports(project.id, since=EPOCH)
    assert [one.status for one in runs if one.drift] == ["drift"]
    # An experiment that is over has no state any more.
    (experiment,) = found.experiments
    (tables,) = change(STATE_TABLES)
    assert sum(experiment.id in name for (name,) in tables) == 2
    for step in (lifecycle.complete, lifecycle.archive):
        store.catalog.experiments.change(
            project.id, experiment.id, partial(step, now=store.clock()), actor="test"
        )
    _count(store, project, defined)
    (tables,) = change(STATE_TABLES)
    assert not any(experiment.id in name for (name,) in tables)


def test_a_state_on_postgresql_is_kept_in_the_schema_and_nothing_of_a_night_that_fails(
    store: WorkingStore, on_postgresql: DefinedSource
) -> None:
    url, project = on_postgresql.source.location, store.add_project()
    with psycopg.connect(str(url), autocommit=True) as shop:
        for statement in (*(CAME.format(name) for name in ("exposures", "orders")), "CREATE SCHEMA ours"):
            shop.execute(statement.encode())
        defined = _with_state(on_postgresql.folder, str(url))
        _count(store, project, defined)
        before = shop.execute("SELECT * FROM ours.truelift_state").fetchall()
        shop.execute(LATE_ORDER.encode())
        # The last statement of the night fails, after all rows of the state are replaced.
        shop.execute("ALTER TABLE ours.truelift_state ADD CHECK (arrived_us < 1771000000000000)")
        with pytest.raises(UnreadableSourceError, match="violates check constraint"):
            _count(store, project, defined)
        assert shop.execute("SELECT * FROM ours.truelift_state").fetchall() == before
        shop.execute("ALTER TABLE ours.truelift_state DROP CONSTRAINT truelift_state_arrived_us_check")
        _count(store, project, defined)
    assert _numbers(store, project) == ([200, 200], [67, 100])


def test_an_experiment_that_no_one_described_is_refused_by_its_name(
    store: WorkingStore, on_duckdb: DefinedSource
) -> None:
    other = described(on_duckdb.folder, "shop.duckdb", SOURCE.replace('name = "Checkout"', 'name = "Cart"'))
    with pytest.raises(ImportRefusedError, match="'Checkout' is no experiment of the project"):
        _count(store, store.add_project(), other)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("max_rows = 10_000", "", "max_rows is missing"),
        ("max_rows = 10_000", "max_bytes_billed = 1", "max_bytes_billed is for BigQuery"),
        ('visitor = "visitor"', 'user = "visitor"', "no statement follows"),
        ('table = "orders"', 'table = "orders"\nsql = "SELECT 1"', r"events\[0\] has a table or sql"),
        ('variant = "arm"', "", "columns.variant is missing"),
        ("max_rows", 'state_schema = "ours"\nmax_rows', "exposures: arrived is missing"),
        ("max_rows", "lookback_days = 3\nmax_rows", "lookback_days is not for kind = 'warehouse'"),
    ],
)
def test_a_wrong_description_is_refused_in_a_sentence(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    with pytest.raises(InvalidSourceError, match=problem):
        described(tmp_path, "shop.duckdb", SOURCE.replace(before, after))


def test_an_engine_that_divides_otherwise_is_found(
    on_duckdb: DefinedSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounded = replace(DUCKDB, quotient=lambda number, divisor: number / divisor)
    monkeypatch.setattr(TeamWarehouse, "dialect", rounded)
    monkeypatch.setattr(sample_shop, "EXPERIMENTS", 1)
    verified = verify_dialect(TeamWarehouse.of(on_duckdb))
    assert verified.differences[0].partition(": ")[2]
