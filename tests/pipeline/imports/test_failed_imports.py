"""Databases of a team, seen from its side while imports from them fail."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg
import pytest

from engine.design.project import Project
from pipeline.disk_space import DiskFullError
from pipeline.imports.source_import import import_source
from pipeline.runs.run_ends import RunStoppedError
from pipeline.sources import tables
from pipeline.sources.definition_files import read_definition
from tests.pipeline.working_store import WorkingStore
from tests.postgresql import import_sessions
from tests.waiting import wait_until

ROWS: Final = "SELECT 'v' || n AS who, TIMESTAMP '2026-01-03 10:00:00' AS at, n AS paid, 'A' AS arm"
MADE: Final = f"CREATE TABLE orders AS {ROWS} FROM generate_series(1, 25) AS numbers (n)"
SOURCE: Final = """
kind = "events"
location = "LOCATION"
table = "orders"
event = "order"
[columns]
visitor = "who"
timestamp = "at"
revenue = "paid"
"""
EXPOSURES: Final = {
    '"events"': '"exposures"',
    'event = "order"': 'experiment = "Nobody\'s"',
    'revenue = "paid"': 'variant = "arm"',
}


class PanicError(BaseException):
    """What a library in Rust raises where it gives up."""


def sql(query: str) -> dict[str, str]:
    return {'table = "orders"': f'sql = "{query}"'}


# Ten kinds of import that fail: changes of the description, or what is raised once a chunk is read.
FAILURES: Final[Mapping[str, Mapping[str, str] | BaseException]] = {
    "a column is missing": {'"paid"': '"price"'},
    "too many rows are unusable": {'timestamp = "at"': 'timestamp = "arm"'},
    "there is no such table": {'"orders"': '"nowhere"'},
    "the query is none": sql("SELECT FROM FROM"),
    "the query would write": sql("DELETE FROM orders"),
    "a row in the middle fails": sql(
        "SELECT who, at, CAST(CASE WHEN who = 'v20' THEN 'x' ELSE '1' END AS int) AS paid FROM orders"
    ),
    "the experiment is unknown": EXPOSURES,
    "the disk is full": DiskFullError("the disk is full"),
    "the service stops": RunStoppedError(),
    "a library panics": PanicError(),
}


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture(scope="module")
def shop(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The URL of a database of PostgreSQL, a session of its team, and a file of DuckDB, with equal tables."""
    url, path = new_database(), tmp_path_factory.mktemp("team") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(MADE)
    with psycopg.connect(url, autocommit=True) as team:
        team.execute(MADE)
        # Instead of a wait for as long as somebody reads the table.
        team.execute("SET lock_timeout = '1s'")
        yield url, team, path


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_import_leaves_neither_a_session_nor_a_locked_file(  # noqa: PLR0917 - fixtures
    failure: str,
    shop: tuple[str, psycopg.Connection[Any], Path],
    store: WorkingStore,
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    url, team, path = shop
    for location in (url, str(path)):
        # The error is kept, as a service keeps it, and so is every frame that it came through.
        with pytest.raises(BaseException) as kept:  # noqa: PT011 - each failure has its own
            attempt(FAILURES[failure], location, store, project, tmp_path)
        assert type(kept.value) is not AssertionError
    # By then, the server has not ended it by itself.
    wait_until(lambda: not import_sessions(team), within=10)
    team.execute("ALTER TABLE orders ADD COLUMN note text")
    team.execute("ALTER TABLE orders DROP COLUMN note")
    # Refused where the file is open for reading.
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE more AS SELECT 1 AS id; DROP TABLE more")


def attempt(
    failure: Mapping[str, str] | BaseException,
    location: str,
    store: WorkingStore,
    project: Project,
    folder: Path,
) -> None:
    text = SOURCE
    for old, new in (failure if isinstance(failure, Mapping) else {}).items():
        assert old in text
        text = text.replace(old, new)
    (description := folder / "orders.toml").write_text(text.replace("LOCATION", location))

    def on_progress(_stage: str, _done: int) -> None:
        if isinstance(failure, BaseException):
            raise failure

    import_source(read_definition(description), project, store=store, on_progress=on_progress)
