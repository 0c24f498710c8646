"""Comparisons without single visitors are those of the data from which these visitors are removed."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from engine.analysis.comparison.analysis_data import AnalysisData, prepare
from engine.analysis.comparison.influence import LEAST_CHANGE, describe, influence_of, may_decide
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.analysis_settings import Statistics
from engine.frames.counts import count
from engine.frames.frame_experiment import FrameExperiment
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Mean, Ratio, Revenue, Value
from engine.frames.rows import Columns, read_rows
from engine.frames.seen import Seen
from tests.examples import is_many, trials

VISITORS = 300


def frame(seed: int = 4) -> pl.DataFrame:
    """Build three variants, B and C better than A, whose first visitor is larger than all others."""
    rng = np.random.default_rng(seed)
    better = np.repeat([1.0, 1.6, 1.6], VISITORS)
    orders = rng.poisson(0.8, 3 * VISITORS)
    spent = orders * rng.lognormal(3, 1, 3 * VISITORS) * better
    views = rng.poisson(5, 3 * VISITORS)
    rows = pl.DataFrame(
        {
            "variant": np.repeat(["A", "B", "C"], VISITORS),
            "spent": spent,
            "orders": orders,
            "views": views,
            "clicks": rng.binomial(views, 0.3 * better),
            "before": 0.5 * spent + rng.exponential(10, 3 * VISITORS),
            "seconds": np.where(
                rng.random(3 * VISITORS) < 0.2, np.nan, rng.lognormal(2, 1, 3 * VISITORS) * better
            ),
        }
    )
    large = {
        "spent": 9_000.0,
        "orders": 60,
        "views": 4_000,
        "clicks": 200,
        "before": 40.0,
        "seconds": 2_000.0,
    }
    is_first = pl.int_range(pl.len()) == 0
    return rows.with_columns(
        pl.when(is_first).then(pl.lit(value)).otherwise(name).alias(name) for name, value in large.items()
    )


def analyzed(rows: pl.DataFrame, goal: FrameGoal) -> AnalysisData:
    columns = Columns(variant="variant", goals={"spent": goal}, visitor=None, timestamp=None, currency="USD")
    arms = ["A", "B", "C"]
    read = read_rows(rows, columns)
    evidence = count(read, variants=arms, goals=columns.goals, timezone="UTC", is_distinct=True).evidence
    settings = FrameExperiment(
        name="x",
        control="A",
        weights=None,
        analysis_method="frequentist",
        confidence_level=95,
        traffic_strategy="fixed",
        statistics=Statistics(),
        is_running=False,
    )
    experiment = settings.of(Seen(variants=arms, first=None, last=None), columns.goals)
    return prepare(experiment, evidence, is_finished=True)


GOALS: Mapping[str, FrameGoal] = {
    "revenue": Revenue(),
    "revenue with CUPED": Revenue(covariates="before"),
    "revenue per order": Revenue(orders="orders"),
    "revenue per order with CUPED": Revenue(orders="orders", covariates="before"),
    "a ratio": Ratio("clicks", "views"),
    "a ratio with CUPED": Ratio("clicks", "views", covariates="before"),
    "values": Value(),
    "means with missing values": Mean(),
    "means with missing values and CUPED": Mean(covariates="before"),
}


def without_each(rows: pl.DataFrame, goal: FrameGoal) -> dict[tuple[int, ...], float]:
    """Compute the z of B against A without visitors, by their places: removed from the data themselves."""
    numbered = rows.with_row_index("place")
    sizes = [goal.parts[0] if goal.parts else "spent"]
    sizes += [goal.parts[1]] if goal.parts else ["orders"] if goal.order_column else []
    sets = list[tuple[int, ...]]()
    for arm in "AB":
        for size in sizes:
            largest = numbered.filter((pl.col("variant") == arm) & pl.col("spent").is_not_nan())
            places = largest.sort(size, descending=True, maintain_order=True)["place"].head(3).to_list()
            sets += [*((place,) for place in places), tuple(places[:2])]
    return {
        places: float(
            assess_significance(
                analyzed(numbered.filter(~pl.col("place").is_in(places)).drop("place"), goal)
            ).z[0, 1]
        )
        for places in sets
    }


@pytest.mark.parametrize("name", GOALS)
def test_to_leave_a_visitor_out_is_to_remove_it(name: str) -> None:
    rows, goal = frame(), GOALS[name]
    if name.startswith("means"):
        # Some visitors have no value, and some no past.
        has_past = pl.int_range(pl.len()) % 7 != 3
        rows = rows.with_columns(spent="seconds", before=pl.when(has_past).then("before"))
    data = analyzed(rows, goal)
    influence = influence_of(data)
    assert influence is not None
    z = assess_significance(data).z[0, 1]
    assert influence.z[0, 1] == pytest.approx(z)
    each = without_each(rows, goal)
    sizes = {places: abs(z) - np.sign(z) * one for places, one in each.items()}
    assert influence.weakest.z[0, 1] == pytest.approx(each[_chosen(sizes)], rel=1e-6)
    sizes = {places: abs(one) - abs(z) for places, one in each.items()}
    assert influence.strongest.z[0, 1] == pytest.approx(each[_chosen(sizes)], rel=1e-6)


def _chosen(sizes: dict[tuple[int, ...], float]) -> tuple[int, ...]:
    """Choose who changes z most: one visitor who does so by LEAST_CHANGE, or anyone."""
    alone = {places: size for places, size in sizes.items() if len(places) == 1 and size >= LEAST_CHANGE}
    found = alone or sizes
    return max(found, key=lambda places: found[places])


def test_what_is_left_out_is_named_with_its_totals() -> None:
    rows = frame()
    data = analyzed(rows, Revenue(orders="orders"))
    influence = influence_of(data)
    assert influence is not None
    left = describe(data.evidence, influence.strongest, 0, 1)
    assert (left.arm, left.count, left.value, left.denominator) == (0, 1, 900_000.0, 60.0)
    of_control = rows.filter(variant="A")
    assert left.of_value == pytest.approx((100 * of_control["spent"]).round().sum())
    assert left.of_denominator == pytest.approx(of_control["orders"].sum())


def test_one_of_two_large_visitors_hides_behind_the_other() -> None:
    rng = np.random.default_rng(1)
    spent = rng.exponential(10, 3 * VISITORS)
    spent[:2] = 3_000.0
    rows = pl.DataFrame({"variant": np.repeat(["A", "B", "C"], VISITORS), "spent": spent})
    data = analyzed(rows, Value())
    influence = influence_of(data)
    assert influence is not None
    left = describe(data.evidence, influence.weakest, 0, 1)
    expected = assess_significance(analyzed(rows.slice(2), Value())).z[0, 1]
    assert (left.count, left.value) == (2, 6_000.0)
    assert left.z == pytest.approx(expected, rel=1e-6)


def test_there_is_no_influence_without_visitors() -> None:
    data = analyzed(frame(), Revenue())
    assert influence_of(replace(data, evidence=replace(data.evidence, largest=None))) is None
    assert influence_of(analyzed(frame().with_columns(spent=pl.col("orders") > 0), Converted())) is None


def with_tails(rng: np.random.Generator) -> pl.DataFrame:
    """Draw three variants of one size, whose values have tails of any length."""
    size, tail = int(rng.integers(30, 900)), rng.uniform(0.1, 1.6)
    return pl.DataFrame(
        {
            "variant": np.repeat(["A", "B", "C"], size),
            "views": 1 + rng.poisson(4, 3 * size),
            "clicks": np.ceil(rng.lognormal(0, tail, 3 * size) * np.repeat([1.0, 1.0, 1.3], size)),
            "spent": rng.lognormal(0, tail, 3 * size).round(2),
        }
    )


def with_outliers(rng: np.random.Generator) -> pl.DataFrame:
    """Draw a small variant with one or two outliers of any share, and B up to four standard errors higher."""
    arms = [rng.random(size) for size in (*rng.permutation([100, 900]), 100)]
    small = min(arms[:2], key=len)
    outliers, share = int(rng.integers(1, 3)), rng.uniform(0.02, 0.3)
    others = small[outliers:]
    small[:outliers] = others.mean() + np.sqrt(share / (1 - outliers * share) * others.size * others.var())
    higher = rng.uniform(0, 4) * np.sqrt(sum(arm.var() / arm.size for arm in arms[:2]))
    arms[1] += arms[0].mean() - arms[1].mean() + higher
    spent = (100 * np.concatenate(arms).clip(0)).round()
    variants = np.repeat(["A", "B", "C"], [arm.size for arm in arms])
    return pl.DataFrame({"variant": variants, "spent": spent})


@pytest.mark.many(seconds=30)
@pytest.mark.parametrize(
    ("kind", "draw"),
    [
        (Revenue(), with_tails),
        (Mean(), with_outliers),
        *(
            pytest.param(kind, draw, marks=pytest.mark.long(seconds=30))
            for kind, draw in (
                (Mean(), with_tails),
                (Ratio("clicks", "views"), with_tails),
                (Revenue(), with_outliers),
            )
        ),
    ],
)
def test_a_visitor_who_is_asked_for_only_if_large_enough_misses_nothing(
    kind: FrameGoal, draw: Callable[[np.random.Generator], pl.DataFrame]
) -> None:
    """Of many draws, no comparison changes by a standard error where nobody is large enough."""
    skipped = 0
    # In few draws, those after which somebody is first skipped.
    for seed in range(0 if is_many() else 17, trials(25, 200)):
        data = analyzed(draw(np.random.default_rng(seed)), kind)
        values, largest = data.evidence.values, data.evidence.largest
        influence = influence_of(data)
        assert influence is not None
        assert largest is not None
        values = VisitorValues.of(data.evidence.revenue) if values is None else values
        denominator = np.nan_to_num(largest.denominator).max(axis=-1)
        value = np.nan_to_num(largest.value)
        is_asked = bool(np.any(may_decide(values, 0.0 * denominator, value.max(axis=-1), denominator)))
        skipped += int(not is_asked)
        if not is_asked:
            assert np.nanmax(influence.lost[0]) < LEAST_CHANGE
            gained = np.abs(influence.strongest.z[0]) - np.abs(influence.z[0])
            assert np.nanmax(np.where(np.abs(influence.z[0]) < 4, gained, 0)) < LEAST_CHANGE
    assert skipped > 0
