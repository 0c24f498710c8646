"""Answers of a warehouse within limits: the time of a statement, one more try, a month's rows, a comment."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.watermarks import read_watermarks
from pipeline.store.source_databases.duckdb_file import read_duckdb_file
from pipeline.store.source_databases.queries import Query, SourceDatabaseError
from pipeline.warehouse import team_warehouse
from pipeline.warehouse.month_rows import MonthRows
from pipeline.warehouse.team_warehouse import Asked, TeamWarehouse
from tests.pipeline.warehouse.described_warehouse import SOURCE, a_warehouse, described
from tests.waiting import wait_until

ASKED = Asked(project_id="prj_1", run_id="run_1", what="sums")
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'truelift prj_1%'"


def _with(line: str) -> str:
    return SOURCE.replace("max_rows = 10_000", f"max_rows = 10_000\n{line}")


def test_postgresql_ends_a_statement_by_its_time_and_its_session_with_it(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    url = new_database()
    warehouse = TeamWarehouse.of(described(tmp_path, url, _with("timeout_seconds = 1")))
    with pytest.raises(UnreadableSourceError, match="ended after 1 seconds"):
        warehouse.answer("SELECT pg_sleep(60)", ASKED)
    with psycopg.connect(url, autocommit=True) as other:
        wait_until(lambda: other.execute(SESSIONS).fetchone() == (0,))


def test_duckdb_ends_a_statement_by_its_time(tmp_path: Path) -> None:
    location = a_warehouse(tmp_path).folder / "shop.duckdb"
    endless = (
        "SELECT count(*) FROM range(10_000_000) AS a, range(10_000_000) AS b WHERE a.range % 7 = b.range"
    )
    with pytest.raises(SourceDatabaseError, match="ended after 0 seconds"):
        [*read_duckdb_file(location, Query(sql=endless, timeout_seconds=0.1), rows=10)]


def test_a_lost_connection_is_tried_once_more_and_both_are_charged(
    tmp_path: Path, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_warehouse, "RETRY_SECONDS", 0)
    base, _, name = new_database().rpartition("/")
    warehouse = TeamWarehouse.of(described(tmp_path, f"{base}/${{SHOP}}"))
    tries = ["nowhere", "nowhere", "nowhere", name]

    def charge() -> None:
        # The environment is read anew for each try.
        monkeypatch.setenv("SHOP", tries.pop(0))

    asked = Asked(project_id="prj_1", run_id="run_1", charge=charge)
    with pytest.raises(UnreadableSourceError, match="nowhere"):
        warehouse.answer("SELECT 1", asked)
    assert len(tries) == 2
    assert warehouse.answer("SELECT 1", asked) == [(1,)]


def test_a_refused_statement_is_not_tried_again(tmp_path: Path) -> None:
    charged = []
    asked = Asked(project_id="prj_1", run_id="run_1", charge=lambda: charged.append(1))
    with pytest.raises(UnreadableSourceError, match="nowhere"):
        TeamWarehouse.of(a_warehouse(tmp_path)).answer("SELECT * FROM nowhere", asked)
    assert len(charged) == 1


def test_a_server_sees_the_project_and_the_run_and_no_text_leaves_the_comment(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    warehouse = TeamWarehouse.of(described(tmp_path, new_database()))
    evil = Asked(project_id="prj_1", run_id="run_1", what="*/ DROP TABLE orders; -- '\n")
    seen = "SELECT application_name, statement FROM pg_stat_activity, pg_cursors WHERE pid = pg_backend_pid()"
    ((name, statement),) = warehouse.answer(seen, evil)
    assert name == "truelift prj_1 run_1 __ DROP TABLE orders_ -- __"
    assert f"/* {name} */ SELECT" in statement


def test_a_month_begins_anew_and_a_source_has_its_own(tmp_path: Path) -> None:
    month = MonthRows(data_dir=tmp_path, project_id="prj_1", source="shop.toml", most=100)
    other = MonthRows(data_dir=tmp_path, project_id="prj_1", source="other.toml", most=None)
    november, december = datetime(2026, 11, 30, 23, 59, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    month.charge(60, now=november)
    other.charge(1_000, now=november)
    with pytest.raises(UnreadableSourceError, match="read 60 rows in 2026-11, 41 more"):
        month.charge(41, now=november)
    month.charge(40, now=november)
    month.charge(100, now=december)
    marks = read_watermarks(tmp_path, "prj_1")
    assert {name: (mark.month, mark.month_rows) for name, mark in marks.items()} == {
        "shop.toml": ("2026-12", 100),
        "other.toml": ("2026-11", 1_000),
    }
