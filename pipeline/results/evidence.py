"""Evidence from sums by variant, goal and day, and the follow-up by days since exposure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.analysis.comparison.plan import primary_row
from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment
from engine.local_days import epoch_days, from_epoch_days, local_day
from engine.measures.sums import AMOUNT, DENOMINATOR, MONEY
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.moments import Moments
from pipeline.results.exact_sums import Place, moments_of
from pipeline.results.goal_amounts import (
    cells_of,
    have_amounts,
    have_ratios,
    in_units,
    in_units_of_denominators,
    ratios_from,
    with_amounts,
)
from pipeline.rollup.counting_rules import FLAGGED_AS_BOT, IDENTITY_CONFLICT, LEFT_OUT, SEVERAL_VARIANTS


def days_of(experiment: Experiment, timezone: str, now: datetime) -> range:
    """List days since 1970 from the local day of the start to that of the end, or today."""
    if experiment.started_at is None:
        return range(0)
    last = now if experiment.completed_at is None else experiment.completed_at
    first_day, last_day = (
        epoch_days(local_day(moment, timezone)) for moment in (experiment.started_at, last)
    )
    return range(first_day, max(first_day, last_day) + 1)


def align_to(
    experiment: Experiment, cells: pl.DataFrame, *, variants: Sequence[str], goals: Sequence[str]
) -> pl.DataFrame:
    """Replace positions of variants and goals in `cells` by those in `experiment`.

    `variants` and `goals` are the ids that were counted, by position. Those that the experiment no longer
    has are left out.
    """
    if cells.is_empty():
        return cells
    variant_positions = positions(variants, [variant.id for variant in experiment.variants])
    goal_positions = positions(goals, [goal.id for goal in experiment.goals])
    for mark in LEFT_OUT:
        variant_positions[mark] = mark
    known = cells.filter(
        pl.col("variant").is_in(list(variant_positions))
        & (pl.col("goal").is_null() | pl.col("goal").is_in(list(goal_positions)))
    )
    return known.with_columns(
        pl.col("variant").replace(variant_positions), pl.col("goal").replace(goal_positions)
    )


def positions(counted: Sequence[str], wanted: Sequence[str]) -> dict[int, int]:
    """Map positions of ids in `counted` to those in `wanted`, without the ids that it lacks."""
    return {place: wanted.index(one) for place, one in enumerate(counted) if one in wanted}


def evidence_of(experiment: Experiment, cells: pl.DataFrame, days: range) -> Evidence:
    """Arrange sums by goal, variant and day, over `days` and all other days that have sums.

    `cells` have `variant`, `goal` (null for visitors), `day` and the sums of the aggregates.
    """
    variants, goals = len(experiment.variants), len(experiment.goals)
    counted = cells.filter(pl.col("variant") < variants)
    days = _covering(days, counted["day"])
    exposed = counted.filter(pl.col("goal").is_null()).with_columns(pl.lit(0, pl.UInt8).alias("goal"))
    outcomes = cells_of(counted, MONEY)
    daily = DailyEvidence(
        days=tuple(from_epoch_days(day) for day in days),
        visitors=_by_day(exposed, "visitors", days, 1, variants)[:, 0, :],
        conversions=_by_day(outcomes, "conversions", days, goals, variants),
        revenue_cents=_by_day(outcomes, "total", days, goals, variants),
        amounts=_daily_amounts(experiment, counted, days),
        denominators=_daily_denominators(experiment, counted, days),
    )
    visitors, conversions = daily.visitors.sum(axis=0), daily.conversions.sum(axis=0)
    revenue = revenue_of(outcomes, np.broadcast_to(visitors, (goals, variants)))
    is_revenue = np.array([[goal.unit == "cents"] for goal in experiment.goals], bool)
    plain = Moments.where(is_revenue.reshape(-1, 1), revenue, Moments.of_shares(conversions, visitors))
    return Evidence(
        visitors=visitors,
        conversions=conversions,
        revenue=revenue,
        values=values_of_amounts(experiment, counted, plain),
        daily=daily,
        several_variants=_marked(cells, SEVERAL_VARIANTS),
        identity_conflicts=_marked(cells, IDENTITY_CONFLICT),
        bots=_marked(cells, FLAGGED_AS_BOT),
    )


def _covering(days: range, with_sums: pl.Series) -> range:
    """Extend the days to those with sums: imported events may be older."""
    outer = [day for day in (with_sums.min(), with_sums.max()) if isinstance(day, int)]
    edges = [*outer, *([days.start, days.stop - 1] if days else [])]
    return range(min(edges), max(edges) + 1) if edges else days


def _by_day(cells: pl.DataFrame, column: str, days: range, goals: int, variants: int) -> IntArray:
    counts = np.zeros((len(days), goals, variants), np.int64)
    dated = cells.filter(pl.col("day").is_not_null() & pl.col(column).is_not_null())
    place = (dated["day"].to_numpy() - days.start, dated["goal"].to_numpy(), dated["variant"].to_numpy())
    np.add.at(counts, place, dated[column].to_numpy())
    return counts


def _daily_amounts(experiment: Experiment, counted: pl.DataFrame, days: range) -> FloatArray | None:
    if not have_amounts(experiment):
        return None
    goals, variants = len(experiment.goals), len(experiment.variants)
    return in_units(experiment, _by_day(cells_of(counted, AMOUNT), "total", days, goals, variants))


def _daily_denominators(experiment: Experiment, counted: pl.DataFrame, days: range) -> FloatArray | None:
    if not have_ratios(experiment):
        return None
    goals, variants = len(experiment.goals), len(experiment.variants)
    totals = _by_day(cells_of(counted, DENOMINATOR), "total", days, goals, variants)
    return in_units_of_denominators(experiment, totals)


def values_of_amounts(experiment: Experiment, counted: pl.DataFrame, plain: Moments) -> VisitorValues | None:
    """Take the moments of every goal's values, `plain` but for amounts; None without amounts."""
    if not have_amounts(experiment):
        return None
    amounts = revenue_of(cells_of(counted, AMOUNT), plain.n)
    values = VisitorValues.of(with_amounts(experiment, plain, amounts))
    if not have_ratios(experiment):
        return values
    totals = _totals(counted)
    return replace(values, orders=ratios_from(experiment, totals, plain.n, _place))


def revenue_of(cells: pl.DataFrame, n: npt.NDArray[Any]) -> Moments:
    """Take the moments of cents, or amounts, of `n` visitors, goals by variants."""
    sums = _totals(cells)
    return moments_of(n, sums, _place(sums))


def _totals(cells: pl.DataFrame) -> pl.DataFrame:
    return cells.group_by("goal", "sum", "variant").agg(pl.col("^cohort_.*$").sum())


def _place(sums: pl.DataFrame) -> Place:
    return sums["goal"].to_numpy(), sums["variant"].to_numpy()


def _marked(cells: pl.DataFrame, mark: int) -> int:
    return int(cells.filter(pl.col("variant") == mark)["visitors"].sum())


def follow_up_of(
    experiment: Experiment, cells: pl.DataFrame, later: pl.DataFrame, *, today: int
) -> FollowUp | None:
    """Follow the visitors of `cells` up to the day before `today`.

    None without a primary goal, or with a retained one.

    `cells` are those of all visitors, and `later` those of `aggregates.read_since_exposure`, both aligned to
    the experiment.
    """
    goal, variants = primary_row(experiment), len(experiment.variants)
    # Whether a visitor is retained is known after some days, not from the first day on.
    if goal is None or not experiment.goals[goal].measure.is_known_at_once:
        return None
    exposed = cells.filter(pl.col("goal").is_null() & (pl.col("variant") < variants))
    converted = later.filter((pl.col("goal") == goal) & (pl.col("variant") < variants))
    return FollowUp.of_counts(
        [exposed[name].to_numpy() for name in ("day", "variant", "visitors")],
        [converted[name].to_numpy() for name in ("day", "days_since", "variant", "conversions")],
        variants=variants,
        today=today,
    )
