"""State of a warehouse: night after night of late, repeated and shared rows, equal to everything anew."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import duckdb
import polars as pl
import psycopg
import pytest

from engine.design.experiment import Experiment
from engine.local_days import epoch_microseconds
from pipeline.rollup.counting_rules import CountingRules
from pipeline.store.source_databases.queries import RunStatement
from pipeline.verification.sample_shop import STARTED, TABLES, ZONE, a_shop
from pipeline.warehouse.dialects.dialect_table import DIALECTS
from pipeline.warehouse.state_tables import StateTables
from pipeline.warehouse.statement import outcomes_of, statement_of
from tests.builders import a_goal, a_project, a_variant, an_experiment
from tests.examples import trials

NIGHTS = [STARTED + timedelta(days=days) for days in (28, 31, 41)]
LONG_BEFORE = NIGHTS[0] - timedelta(days=2)
RULES = CountingRules.of(a_project(reporting_timezone=ZONE))
WITH_ARRIVAL = replace(TABLES, arrived=("came", "came", "came"))
OWNER = ("prj_1", "shop")
FUNNEL = {"event_name": "purchase", "measure": "funnel", "steps": [{"event_name": "view"}]}


def _an_experiment(goals: int) -> Experiment:
    found = (
        a_goal(id="goal_1", goal_type="revenue", config={"cap_percentile": 90}),
        a_goal(id="goal_2", is_primary=False, config=FUNNEL),
        a_goal(
            id="goal_3",
            is_primary=False,
            config={"event_name": "view", "measure": "distinct", "field": "custom:page"},
        ),
    )
    variants = (a_variant(id="var_a", name="Control", is_control=True), a_variant())
    return an_experiment(status="running", variants=variants, goals=found[:goals], started_at=STARTED)


def _with_arrivals(seed: int) -> dict[str, pl.DataFrame]:
    """Make a shop of which one row in 20 comes later than the first night, of whatever time it is."""
    random = Random(seed)  # noqa: S311 - not for secrets
    shop = a_shop(seed)
    return {
        name: rows.with_columns(
            pl.Series("came", [_night(random).replace(tzinfo=None) for _ in range(rows.height)])
        )
        for name, rows in shop.tables.items()
    }


def _night(random: Random) -> datetime:
    if random.random() < 0.05:
        return random.choice(NIGHTS[1:])
    return NIGHTS[0] - timedelta(days=random.uniform(0, 20))


@contextmanager
def _on_duckdb() -> Iterator[RunStatement]:
    with duckdb.connect() as connection:
        yield lambda sql: connection.execute(sql).fetchall()


@contextmanager
def _on_postgresql(url: str) -> Iterator[RunStatement]:
    with psycopg.connect(url) as connection:

        def run(sql: str) -> list[tuple[object, ...]]:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

        yield run


def _add(run: RunStatement, rows: pl.DataFrame, name: str) -> None:
    values = (", ".join("NULL" if one is None else f"'{one}'" for one in row) for row in rows.iter_rows())
    if text := ", ".join(f"({row})" for row in values):
        run(f'INSERT INTO "{name}" VALUES {text}')  # noqa: S608 # texts of our own


def _nights(run: RunStatement, engine: str, tables: dict[str, pl.DataFrame], *, goals: int) -> None:
    kinds = {
        "at": "timestamp",
        "came": "timestamp",
        "amount": "float8",
        "value": "float8",
        "refund": "boolean",
    }
    experiment = _an_experiment(goals)
    run("SET TimeZone = 'UTC'")
    run("CREATE SCHEMA ours")
    for name, rows in tables.items():
        columns = ", ".join(f'"{column}" {kinds.get(column, "text")}' for column in rows.columns)
        run(f'CREATE TABLE "{name}" ({columns})')
    numbers: list[int] = []

    def noted(sql: str) -> list[tuple[object, ...]]:
        rows = run(sql)
        if sql.startswith("CREATE TEMP TABLE"):
            numbers.append(int(run('SELECT count(*) FROM "truelift_touched"')[0][0]))
        return rows

    before = STARTED - timedelta(days=30)
    for place, night in enumerate(NIGHTS):
        came = (pl.col("came") > before.replace(tzinfo=None)) & (pl.col("came") <= night.replace(tzinfo=None))
        before = night
        for name, rows in tables.items():
            _add(run, rows.filter(came), name)
        statement, found, has_drifted = _state(experiment, engine, night).count(
            noted, now_us=epoch_microseconds(night)
        )
        anew = statement_of(TABLES, [(experiment, RULES)], DIALECTS[engine], now_us=epoch_microseconds(night))
        assert {*found} == {*run(anew.sql())}, (engine, place)
        assert not has_drifted
        assert statement.labels == anew.labels
    assert len(found) > 10
    # The first night has no state, and each later one replaces some of the visitors.
    assert len(numbers) == len(NIGHTS) - 1
    assert 0 < min(numbers) < tables["exposures"]["visitor"].n_unique()


def _state(experiment: Experiment, engine: str, night: datetime) -> StateTables:
    outcomes = outcomes_of(
        WITH_ARRIVAL, experiment, RULES, DIALECTS[engine], now_us=epoch_microseconds(night)
    )
    return StateTables(outcomes=outcomes, schema="ours", owner=OWNER)


def _that_displace() -> dict[str, pl.DataFrame]:
    """Make rows of the second night that each displace one of a visitor of whom nothing came."""
    visitors = [f"v{number}" for number in range(12)]
    first = {"at": STARTED + timedelta(days=1), "country": "US", "plan": None, "came": LONG_BEFORE}
    exposures = [
        {**first, "visitor": one, "arm": ("Control", "Treatment")[place % 2], "id": f"x{place}"}
        for place, one in enumerate(visitors)
    ]
    exposures[11]["came"] = NIGHTS[0]
    # An exposure with the same id, before the one that is known.
    exposures.append(
        {**exposures[8], "visitor": "v20", "at": STARTED + timedelta(hours=2), "came": NIGHTS[1]}
    )
    orders = [
        _order("v1", "o1", "t1", days=4, night=0),
        _order("v2", "o2", "t1", days=3, night=1),
        _order("v3", "o3", None, days=4, night=0),
        _order("v4", "o3", None, days=3, night=1),
        # The repeat takes the place of the first order of t5, so that the second one counts.
        _order("v5", "o5", "t5", days=3, night=0),
        _order("v6", "o6", "t5", days=4, night=0),
        _order("v7", "o5", None, days=2, night=1),
    ]
    tracks = [{"visitor": "v1", "at": first["at"], "event": "view", "value": 1.0, "page": "a", "id": "e1"}]
    tables = {"exposures": exposures, "orders": orders, "tracks": [{**tracks[0], "came": LONG_BEFORE}]}
    return {
        name: pl.DataFrame(rows).with_columns(
            pl.col("at").dt.replace_time_zone(None),
            pl.col("came").dt.replace_time_zone(None),
        )
        for name, rows in tables.items()
    }


def _order(visitor: str, own_id: str, transaction: str | None, *, days: int, night: int) -> dict[str, Any]:
    amount, at = 10.0 + int(visitor[1:]), STARTED + timedelta(days=days)
    ids = {"visitor": visitor, "id": own_id, "txn": transaction}
    return {
        **ids,
        "at": at,
        "amount": amount,
        "currency": "USD",
        "refund": False,
        "came": NIGHTS[1] if night else LONG_BEFORE,
    }


def test_a_new_row_that_displaces_one_of_another_visitor_is_followed(new_database: Callable[[], str]) -> None:
    with _on_duckdb() as duck, _on_postgresql(new_database()) as postgresql:
        for engine, run in {"duckdb": duck, "postgresql": postgresql}.items():
            _nights(run, engine, _that_displace(), goals=1)


@pytest.mark.many(seconds=40)
def test_nights_of_new_rows_are_equal_to_everything_anew() -> None:
    for seed in range(trials(1, 15)):
        with _on_duckdb() as run:
            _nights(run, "duckdb", _with_arrivals(seed), goals=3)
