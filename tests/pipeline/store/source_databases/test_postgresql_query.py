"""Rows of PostgreSQL, of one snapshot, with the types that imports take."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import psycopg
import pytest

from pipeline.store.source_databases import postgresql_query
from pipeline.store.source_databases.postgresql_query import read_postgresql
from pipeline.store.source_databases.queries import Query, SourceDatabaseError
from tests.postgresql import import_sessions
from tests.waiting import wait_until

VALUES = """SELECT 7::int2 AS whole, 12.50::numeric(9, 2) AS amount, 1.5::float8 AS share, true AS paid,
  date '2026-01-03' AS day, timestamp '2026-01-03 10:00:00.25' AS local,
  timestamptz '2026-01-03 10:00:00+02' AS at, 'infinity'::timestamptz AS never,
  '{"a": 1}'::jsonb AS attributes, 'é' AS name, NULL::text AS nothing"""


def test_values_have_the_types_of_their_columns(new_database: Callable[[], str]) -> None:
    (frame,) = read_postgresql(new_database(), Query(sql=f"{VALUES};"), rows=10)
    assert frame.to_dicts() == [
        {
            "whole": 7,
            "amount": "12.50",
            "share": 1.5,
            "paid": True,
            "day": date(2026, 1, 3),
            "local": datetime(2026, 1, 3, 10, 0, 0, 250_000),  # noqa: DTZ001 - a time without a zone
            "at": datetime(2026, 1, 3, 8, tzinfo=UTC),
            "never": None,
            "attributes": '{"a": 1}',
            "name": "é",
            "nothing": None,
        }
    ]


def test_rows_come_in_chunks_of_one_snapshot(new_database: Callable[[], str]) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE TABLE orders AS SELECT generate_series(1, 25) AS id")
        frames = read_postgresql(url, Query(table="public.orders"), rows=10)
        first = next(frames)
        other.execute("INSERT INTO orders VALUES (26)")
        other.execute("DELETE FROM orders WHERE id = 20")
    rest = list(frames)
    assert [frame.height for frame in (first, *rest)] == [10, 10, 5]
    assert [row for frame in (first, *rest) for row in frame["id"]] == list(range(1, 26))


def test_the_server_ends_a_session_that_asks_for_no_further_rows(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_query, "_IDLE_LIMIT", "10ms")
    url = new_database()
    frames = read_postgresql(url, Query(sql="SELECT generate_series(1, 25) AS id"), rows=10)
    next(frames)
    with psycopg.connect(url, autocommit=True) as other:
        wait_until(lambda: not import_sessions(other))
    with pytest.raises(SourceDatabaseError, match="idle-in-transaction timeout"):
        next(frames)


def test_a_query_without_rows_has_columns(new_database: Callable[[], str]) -> None:
    (frame,) = read_postgresql(new_database(), Query(sql="SELECT 1 AS a WHERE false"), rows=10)
    assert (frame.columns, frame.height) == (["a"], 0)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT * FROM nowhere", 'relation "nowhere" does not exist'),
        ("DELETE FROM pg_class", "syntax error"),
        ("SELECT 1 AS a, 2 AS a", "two columns of one name"),
        ("SELECT 1 / 0 AS a", "division by zero"),
    ],
)
def test_a_query_that_is_refused_says_why(new_database: Callable[[], str], sql: str, why: str) -> None:
    with pytest.raises(SourceDatabaseError, match=why):
        list(read_postgresql(new_database(), Query(sql=sql), rows=10))


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1/shop", "127.0.0.1:port/shop", "[::1/shop", "host/shop?password"]
)
def test_no_message_has_the_password(address: str) -> None:
    with pytest.raises(SourceDatabaseError) as raised:
        list(read_postgresql(f"postgresql://me:s3cr3t@{address}", Query(table="orders"), rows=10))
    assert "s3cr3t" not in str(raised.value)


def test_rows_since_a_time_are_those_of_either_type(new_database: Callable[[], str]) -> None:
    url = new_database()
    query = Query(
        sql="""SELECT at, at AT TIME ZONE 'UTC' AS local
          FROM generate_series(timestamptz '2026-01-03 00:00+00', '2026-01-12 00:00+00', '1 day') AS days (at)
          WHERE at >= {since} AND at AT TIME ZONE 'UTC' >= {since}"""
    )
    (found,) = read_postgresql(url, query.since(datetime(2026, 1, 5, tzinfo=UTC)), rows=100)
    (every,) = read_postgresql(url, query.since(None), rows=100)
    assert (found.height, every.height) == (8, 10)
    assert found["at"].min() == datetime(2026, 1, 5, tzinfo=UTC)
