"""Columns of bytes, intervals, lists and records do no harm where nobody names them."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl
import psycopg
import pytest

from pipeline.imports.event_import import import_events
from pipeline.imports.import_result import Imported
from pipeline.imports.source_import import import_source
from pipeline.sources.definition_files import read_definition
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import UnreadableSourceError
from pipeline.store.source_databases.queries import Query
from tests.examples import mostly_in_shares
from tests.pipeline.working_store import WorkingStore

SOURCE: Final = """
kind = "events"
location = "LOCATION"
TABLE
event = "order"
[columns]
visitor = "who"
timestamp = "at"
value = "paid"
"""
# The type as each database writes it; those of DuckDB that Polars takes from nobody are among them.
IN_DUCKDB: Final = (
    *("'\\xFF'::BLOB", "INTERVAL 1 DAY", "[1, 2]", "{'a': 1}", "MAP {'a': 1}", "[INTERVAL 1 DAY]"),
    *("union_value(n := 1)", "'101'::BIT", "DATE 'infinity'", "1::HUGEINT"),
)
IN_POSTGRESQL: Final = (
    *("'\\xff'::bytea", "interval '1 day'", "ARRAY[1, 2]", "point(1, 2)", "int4range(1, 2)", "'{}'::jsonb"),
    *("date 'infinity'", "B'101'", "timestamp '0044-03-15 BC'"),
)
IN_PARQUET: Final[dict[str, Any]] = {
    "bytes": b"\xff",
    "interval": timedelta(days=1),
    "list": [1, 2],
    "record": {"a": 1, "b": [1]},
}
ROW: Final = {"who": ["v1"], "at": ["2026-01-03 10:00:00"], "paid": [1.5]}


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def import_table(store: WorkingStore, folder: Path, location: str, **names: str) -> Imported:
    text = SOURCE.replace("LOCATION", location)
    text = text.replace("TABLE", "" if location.endswith(".parquet") else 'table = "orders"')
    for meaning, column in names.items():
        old = {"visitor": "who", "at": "at", "value": "paid"}[meaning]
        text = text.replace(f'"{old}"', f'"{column}"')
    (path := folder / "orders.toml").write_text(text)
    return import_source(read_definition(path), store.add_project(), store=store).imported


def made(kind: str) -> str:
    return (
        "CREATE TABLE orders AS "
        f"SELECT 'v1' AS who, TIMESTAMP '2026-01-03 10:00:00' AS at, 1.5 AS paid, {kind} AS odd"
    )


@pytest.mark.parametrize("kind", mostly_in_shares(IN_DUCKDB, *IN_DUCKDB[::2], IN_DUCKDB[-1], seconds=0.5))
def test_a_column_of_duckdb_does_no_harm(tmp_path: Path, store: WorkingStore, kind: str) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(made(kind))
    assert import_table(store, tmp_path, str(path)).rows == 1
    refused_or_text(lambda: import_table(store, tmp_path, str(path), visitor="odd"))
    events = Query(sql="SELECT 'custom_event' AS type, 'x' AS event_name, who AS visitor_id, odd FROM orders")
    imported = import_events(find_tables([str(path)], query=events), store.add_project(), store=store)
    assert imported.rows + imported.rejected == 1


def test_columns_of_postgresql_do_no_harm(
    tmp_path: Path, store: WorkingStore, new_database: Callable[[], str]
) -> None:
    url = new_database()
    for kind in IN_POSTGRESQL:
        with psycopg.connect(url, autocommit=True) as team:
            team.execute(f"DROP TABLE IF EXISTS orders; {made(kind)}".encode())
        assert import_table(store, tmp_path, url).rows == 1
        refused_or_text(lambda: import_table(store, tmp_path, url, value="odd"))


@pytest.mark.parametrize("name", IN_PARQUET)
def test_a_column_of_parquet_does_no_harm_and_is_refused_where_it_is_named(
    tmp_path: Path, store: WorkingStore, name: str
) -> None:
    path = tmp_path / "orders.parquet"
    pl.DataFrame({**ROW, name: [IN_PARQUET[name]]}).write_parquet(path)
    assert import_table(store, tmp_path, str(path)).rows == 1
    for meaning in ("visitor", "at", "value"):
        with pytest.raises(UnreadableSourceError, match=f"'{name}' of .* has .*, which no import reads"):
            import_table(store, tmp_path, str(path), **{meaning: name})
    # In a file of events every further column is an attribute, which these are not.
    event = {"type": ["custom_event"], "event_name": ["x"], "visitor_id": ["v1"]}
    pl.DataFrame({**event, name: [IN_PARQUET[name]]}).write_parquet(path)
    assert import_events(find_tables([str(path)]), store.add_project(), store=store).rejected == 0
    pl.DataFrame({**event, "url": [IN_PARQUET[name]]}).write_parquet(path)
    with pytest.raises(UnreadableSourceError, match=r"'url' of orders\.parquet has"):
        import_events(find_tables([str(path)]), store.add_project(), store=store)


def test_bytes_that_are_text_are_text(tmp_path: Path, store: WorkingStore) -> None:
    path = tmp_path / "orders.parquet"
    pl.DataFrame({**ROW, "who": [b"v1"]}).write_parquet(path)
    assert import_table(store, tmp_path, str(path)).rows == 1


def refused_or_text(attempt: Callable[[], Imported]) -> None:
    """A value is read as its text, a row is unusable, or the table is refused: each in a sentence."""
    rows, why = 1, "read"
    try:
        rows = attempt().rows
    except UnreadableSourceError as error:
        why = str(error)
    assert rows == 1
    assert why == "read" or "which no import reads" in why or "unusable" in why
