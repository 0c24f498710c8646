import numpy as np
import polars as pl

from engine.stats.moments import Moments
from pipeline.results.evidence import align_to, evidence_of
from pipeline.store.warehouse.aggregates import no_cells
from pipeline.store.warehouse.cubes import CUBE_BASE
from tests.builders import a_goal, an_experiment

EXPERIMENT = an_experiment(status="running")


def cells(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=no_cells().schema)


def test_moments_lose_nothing_where_the_mean_is_a_million_times_the_spread() -> None:
    orders = [10**12 + number for number in (0, 1, 2, 3, 9)]
    found = evidence_of(
        EXPERIMENT,
        cells(
            {"variant": 0, "day": 20_513, "visitors": 5},
            {
                "variant": 0,
                "goal": 0,
                "sum": "money",
                "day": 20_513,
                "cohort_total": sum(orders),
                "cohort_squared": sum(cents**2 for cents in orders),
                "cohort_cubed_high": sum(cents**3 for cents in orders) // CUBE_BASE,
                "cohort_cubed_low": sum(cents**3 for cents in orders) % CUBE_BASE,
            },
        ),
        range(20_513, 20_514),
    ).revenue
    # Welford's two passes over the values themselves.
    wanted = Moments.of(np.array(orders) - 10**12)
    assert found.m2[0, 0] == wanted.m2 == 50.0
    assert found.m3[0, 0] == wanted.m3 == 180.0
    assert found.mean[0, 0] == 10**12 + 3


def test_days_stretch_to_what_was_seen_outside_them() -> None:
    seen = cells({"variant": 0, "day": 3, "visitors": 1}, {"variant": 1, "day": 7, "visitors": 1})
    daily = evidence_of(EXPERIMENT, seen, range(5, 7)).daily
    assert [day.day for day in daily.days] == [4, 5, 6, 7, 8]
    assert daily.visitors.sum() == 2


def test_places_follow_the_ids_that_were_counted() -> None:
    now = an_experiment(goals=(a_goal(id="new"), a_goal(id="old", is_primary=False)))
    counted = cells(
        {"variant": 1, "visitors": 4},
        {"variant": 1, "goal": 0, "conversions": 3},
        {"variant": 1, "goal": 1, "conversions": 9},
        {"variant": 255, "visitors": 2},
    )
    placed = align_to(now, counted, variants=("var_1", "var_0"), goals=("old", "gone"))
    assert placed.select("variant", "goal", "conversions").rows() == [
        (0, None, None),
        (0, 1, 3),
        (255, None, None),
    ]
