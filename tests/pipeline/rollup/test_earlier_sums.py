"""Results of earlier versions get their form and their sums when a store is opened; as of a DataFrame."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from engine.frames.counts import count
from engine.frames.kinds import Revenue
from engine.frames.rows import Columns, read_rows
from engine.measures.sums import SUMS
from pipeline.rollup.earlier_sums import complete_earlier_sums
from pipeline.store.warehouse import aggregates, earlier_results
from pipeline.store.warehouse.connection import Cursor, fetch_frame
from pipeline.store.warehouse.visitors import result_table
from tests.builders import a_goal
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure

CENTS = (0, 0, 0, 250, 31_622_777, 9 * 10**11, 1_999)


# What earlier versions added to a goal's number.
NUMBERED = {"money": 0, "amount_plus_denominator": 64, "amount": 128, "denominator": 192}
RATIO = a_goal(
    id="ratio",
    is_primary=False,
    goal_type="custom_event",
    config={"event_name": "view", "measure": "ratio", "denominator": {"event_name": "visit"}},
)


def fill(store: WorkingStore, **fields: Any) -> tuple[Any, Any]:
    """Three in seven visitors see the variant; each has another amount."""
    project = store.add_project()
    experiment = store.add_experiment(project, goals=(a_goal(), RATIO), **fields)
    for number, cents in enumerate(CENTS):
        visitor = f"v{number}"
        exposure = an_exposure(
            experiment, int(number in {0, 3, 6}), visitor, country="DE" if number % 2 else "US"
        )
        bought = [a_purchase(visitor, minute=2 + number * 1_000, cents=cents)] if cents else []
        views = [
            an_event(
                "custom_event",
                visitor,
                minute=minute + number,
                event_name=name,
                event_id=f"{name}-{visitor}-{minute}",
            )
            for name, minutes in (("view", (3, 3_000, 6_000)), ("visit", (4, 3_000)))
            for minute in minutes[: number % 4]
        ]
        store.write(project, exposure, *bought, *views)
    store.rollup.refresh(project.id)
    return project, experiment


def store_as_earlier(cursor: Cursor, experiment_id: str, *, with_cubes: bool) -> None:
    """Give the tables of an experiment the form that earlier versions stored."""
    added = " ".join(f"WHEN '{name}' THEN {number}" for name, number in NUMBERED.items())
    goal = f"(goal + CASE sum {added} ELSE 0 END)::UTINYINT AS goal"
    cubes = [f"cohort_cubed_{part} AS cohort_cents_cubed_{part}" for part in ("high", "low")]
    columns = [
        *("visitors", "conversions", "total AS cents", "cohort_conversions"),
        *("cohort_total AS cohort_cents", "cohort_squared AS cohort_cents_squared"),
        *(cubes if with_cubes else ()),
    ]
    for kind, kept in (
        ("aggregates", f"dimension, value, variant, {goal}, day, {', '.join(columns)}"),
        ("orders", f"visitor_key, {goal}, from_day, day, cents"),
    ):
        table = result_table(kind, experiment_id)
        of_then = "sum IS NULL OR sum <> 'amount_minus_denominator'"
        cursor.execute(
            f"CREATE OR REPLACE TABLE {table} AS SELECT {kept} FROM {table} WHERE {of_then}"  # noqa: S608
        )


@pytest.mark.parametrize("with_cubes", [True, False])
def test_results_of_earlier_versions_are_those_of_a_recount(tmp_path: Path, *, with_cubes: bool) -> None:
    with a_working_store(tmp_path) as store:
        project, experiment = fill(store)
        store.write(project, a_purchase("v3", minute=9_000, cents=70))
        store.rollup.refresh(project.id)
        with store.warehouse.transaction() as cursor:
            before = aggregates.read_all(cursor, experiment.id)
            orders = fetch_frame(cursor, f"FROM {result_table('orders', experiment.id)}")
            store_as_earlier(cursor, experiment.id, with_cubes=with_cubes)
    assert {*before["sum"]} == {None, *SUMS}
    assert before.filter(pl.col("sum") == "amount_minus_denominator")["cohort_cubed_low"].sum()
    assert {*orders["sum"]} == {"money", "amount", "denominator"}
    with a_working_store(tmp_path) as store:
        with store.warehouse.transaction() as cursor:
            assert_frame_equal(aggregates.read_all(cursor, experiment.id), before, check_row_order=False)
            found = fetch_frame(cursor, f"FROM {result_table('orders', experiment.id)}")
            assert_frame_equal(found, orders, check_row_order=False)
        assert complete_earlier_sums(store.warehouse) == []
        assert store.rollup.rebuild(project.id).drifted == ()


def test_results_without_buckets_get_them(tmp_path: Path) -> None:
    quantile = a_goal(config={"event_name": "purchase", "measure": "quantile"})
    with a_working_store(tmp_path) as store:
        project, experiment = fill(store)
        before = store.observe(experiment, project)
        with store.warehouse.transaction() as cursor:
            for kind in ("aggregates", "orders"):
                cursor.execute(f"ALTER TABLE {result_table(kind, experiment.id)} DROP COLUMN bucket")
    with a_working_store(tmp_path) as store:
        assert (store.observe(experiment, project).revenue.mean == before.revenue.mean).all()
        changed = store.change(experiment, goals=(quantile, RATIO))
        store.write(project, a_purchase("v3", minute=9_000, cents=70))
        store.rollup.refresh(project.id)
        assert store.observe(changed, project).quantiles[0].visitors == (2, 2)
        assert store.rollup.rebuild(project.id).drifted == ()


def test_an_interrupted_completion_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_working_store(tmp_path) as store:
        _, first = fill(store)
        _, second = fill(store)
        for one in (first, second):
            with store.warehouse.transaction() as cursor:
                store_as_earlier(cursor, one.id, with_cubes=True)
        name_sums = earlier_results.name_sums
        named: list[str] = []

        def fail_later(cursor: Cursor, experiment_id: str) -> bool:
            if named:
                raise OSError(errno.ENOSPC, "no space left")
            named.append(experiment_id)
            return name_sums(cursor, experiment_id)

        monkeypatch.setattr(earlier_results, "name_sums", fail_later)
        with pytest.raises(OSError, match="no space"):
            complete_earlier_sums(store.warehouse)
        monkeypatch.undo()
        assert {*complete_earlier_sums(store.warehouse)} == {first.id, second.id}


def test_moments_of_the_store_are_those_of_a_data_frame(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project, experiment = fill(store)
        found = store.observe(experiment, project).revenue[:1]
    arms = [int(number in {0, 3, 6}) for number in range(len(CENTS))]
    frame = pl.DataFrame({"arm": [f"arm {arm}" for arm in arms], "cents": CENTS})
    columns = Columns(variant="arm", goals={"spent": Revenue()})
    rows = read_rows(frame.with_columns(spent=pl.col("cents") / 100), columns)
    counted = count(rows, variants=["arm 0", "arm 1"], goals=columns.goals, timezone="UTC").evidence.revenue
    for name in ("n", "mean", "m2", "m3"):
        np.testing.assert_allclose(getattr(found, name), getattr(counted, name), rtol=1e-12)
    assert (found.m3 != 0).all()
