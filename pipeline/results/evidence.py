"""Sums by variant, goal and day as the evidence that is analysed.

Sums by day of first exposure and days since, as visitors followed from their exposure on.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.analysis.comparison.plan import primary_row
from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.totals import DailyEvidence, Evidence
from engine.design.experiment import Experiment
from engine.local_days import epoch_days, from_epoch_days, local_day
from engine.stats.arrays import IntArray
from engine.stats.moments import Moments
from pipeline.rollup.counting_rules import FLAGGED_AS_BOT, SEVERAL_VARIANTS

ObjectArray = npt.NDArray[np.object_]


def whole_numbers(
    column: pl.Series, place: tuple[npt.NDArray[Any], ...], shape: tuple[int, ...]
) -> ObjectArray:
    """Numbers of up to 128 bits, each in its place of an array; those of one place add up."""
    laid_out = np.full(shape, 0, object)
    np.add.at(laid_out, place, np.array(column.to_list(), object))
    return laid_out


def days_of(experiment: Experiment, timezone: str, now: datetime) -> range:
    """Days since 1970 from the local day it started on to the one it completed on, or today."""
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
    """Cells by the positions of variants and goals in `experiment`, not those they were counted by.

    `variants` and `goals` are the ids they were counted by. What the experiment no longer has is left
    out, and what it has got since is not in there yet.
    """
    variant_places = _places(variants, [variant.id for variant in experiment.variants])
    goal_places = _places(goals, [goal.id for goal in experiment.goals])
    for mark in (SEVERAL_VARIANTS, FLAGGED_AS_BOT):
        variant_places[mark] = mark
    known = cells.filter(
        pl.col("variant").is_in(list(variant_places))
        & (pl.col("goal").is_null() | pl.col("goal").is_in(list(goal_places)))
    )
    return known.with_columns(pl.col("variant").replace(variant_places), pl.col("goal").replace(goal_places))


def _places(counted: Sequence[str], wanted: Sequence[str]) -> dict[int, int]:
    return {place: wanted.index(one) for place, one in enumerate(counted) if one in wanted}


def evidence_of(experiment: Experiment, cells: pl.DataFrame, days: range) -> Evidence:
    """Lay sums out over the experiment's goals and variants, and over `days`, or more where more was seen.

    `cells` have `variant`, `goal` (null: of no goal in particular), `day` and the sums of the aggregates.
    """
    variants, goals = len(experiment.variants), len(experiment.goals)
    counted = cells.filter(pl.col("variant") < variants)
    days = _covering(days, counted["day"])
    there = counted.filter(pl.col("goal").is_null()).with_columns(pl.lit(0, pl.UInt8).alias("goal"))
    done = counted.filter(pl.col("goal") < goals)
    daily = DailyEvidence(
        days=tuple(from_epoch_days(day) for day in days),
        visitors=_by_day(there, "visitors", days, 1, variants)[:, 0, :],
        conversions=_by_day(done, "conversions", days, goals, variants),
        revenue_cents=_by_day(done, "cents", days, goals, variants),
    )
    visitors = daily.visitors.sum(axis=0)
    return Evidence(
        visitors=visitors,
        conversions=daily.conversions.sum(axis=0),
        revenue=_revenue(done, visitors, goals),
        daily=daily,
        several_variants=_aside(cells, SEVERAL_VARIANTS),
        bots=_aside(cells, FLAGGED_AS_BOT),
    )


def _covering(days: range, seen: pl.Series) -> range:
    """The days, stretched to those that something happened on: imported events may be older."""
    found = [day for day in (seen.min(), seen.max()) if isinstance(day, int)]
    edges = [*found, *([days.start, days.stop - 1] if days else [])]
    return range(min(edges), max(edges) + 1) if edges else days


def _by_day(cells: pl.DataFrame, column: str, days: range, goals: int, variants: int) -> IntArray:
    counts = np.zeros((len(days), goals, variants), np.int64)
    dated = cells.filter(pl.col("day").is_not_null() & pl.col(column).is_not_null())
    place = (dated["day"].to_numpy() - days.start, dated["goal"].to_numpy(), dated["variant"].to_numpy())
    np.add.at(counts, place, dated[column].to_numpy())
    return counts


def _revenue(cells: pl.DataFrame, visitors: IntArray, goals: int) -> Moments:
    """Moments of cents per visitor."""
    n = np.broadcast_to(visitors, (goals, len(visitors)))
    sums = cells.group_by("goal", "variant").agg(pl.col("cohort_cents", "cohort_cents_squared").sum())
    place = (sums["goal"].to_numpy(), sums["variant"].to_numpy())
    return Moments.of_sums(
        n, *(whole_numbers(sums[name], place, n.shape) for name in ("cohort_cents", "cohort_cents_squared"))
    )


def _aside(cells: pl.DataFrame, mark: int) -> int:
    return int(cells.filter(pl.col("variant") == mark)["visitors"].sum())


def follow_up_of(
    experiment: Experiment, cells: pl.DataFrame, later: pl.DataFrame, *, today: int
) -> FollowUp | None:
    """Follow the visitors of `cells` up to the day before `today`, which is not over; None without a goal.

    `cells` are those of everyone, and `later` of `aggregates.read_since_exposure`; both by the positions of
    the experiment's own variants and goals.
    """
    goal, variants = primary_row(experiment), len(experiment.variants)
    if goal is None:
        return None
    came = cells.filter(pl.col("goal").is_null() & (pl.col("variant") < variants))
    converted = later.filter((pl.col("goal") == goal) & (pl.col("variant") < variants))
    return FollowUp.of_counts(
        [came[name].to_numpy() for name in ("day", "variant", "visitors")],
        [converted[name].to_numpy() for name in ("day", "days_since", "variant", "conversions")],
        variants=variants,
        today=today,
    )
