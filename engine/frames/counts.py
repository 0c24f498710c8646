"""Evidence from rows of a DataFrame: every visitor counted once, in one variant."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from engine.analysis.evidence.cluster_sums import values_of_clusters
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.analysis.evidence.totals import Totals
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames import clusters
from engine.frames.counted_days import Cohorts, daily_of
from engine.frames.frame_goal import FrameGoal
from engine.frames.funnels import funnels_of
from engine.frames.kinds import Quantile, Retained, Revenue
from engine.frames.largest import largest_of
from engine.frames.values import values_of
from engine.frames.visitors import as_visitors, by_visitor, of_one_variant, with_codes, with_known_outcomes
from engine.local_days import from_epoch_microseconds
from engine.stats.arrays import IntArray
from engine.stats.clustered_buckets import ClusteredBuckets
from engine.stats.moments import Moments


class Counted(NamedTuple):
    """Evidence of rows, and the cohorts that its follow-up adds up; None where nothing is followed."""

    evidence: Evidence
    cohorts: Cohorts | None


def count(  # noqa: PLR0913  # rows and what they are of
    rows: pl.DataFrame,
    *,
    variants: Sequence[str],
    goals: Mapping[str, FrameGoal],
    timezone: str,
    is_distinct: bool = False,
    cluster: str | None = None,
) -> Counted:
    """Count the rows of `read_rows` by variant and goal.

    A visitor converts if any row says so, on the day of the first one that does; revenue adds up.
    Visitors seen in several variants are excluded. Without times there are no days. `is_distinct` where
    each row is a visitor. `cluster` names what was assigned as a whole, if something was: clusters seen in
    several variants are excluded with all their visitors.
    """
    as_of = moment(rows["at"].max())
    kept = None if cluster is None else clusters.of_one_variant(rows)
    rows = rows if kept is None else kept.rows
    kinds = list(goals.values())
    coded = with_codes(rows, variants, timezone)
    everyone = as_visitors(coded, kinds) if is_distinct else by_visitor(coded, kinds)
    each, others = (everyone, everyone.clear()) if is_distinct else of_one_variant(everyone)
    several = others.height
    rows = coded.join(others, on="visitor", how="anti") if several else coded
    arms = [each.filter(pl.col("variant") == code) for code in range(len(variants))]
    daily = (
        DailyEvidence.none(len(kinds), len(arms))
        if coded["day"].null_count()
        else daily_of(rows, each, kinds, len(variants))
    )
    # By these, visitors would be compared one by one; and whether one is retained is known after a window,
    # not from the first day on.
    is_followed = kept is None and not isinstance(kinds[0], Retained)
    cohorts = Cohorts.of(each, coded["day"].max()) if is_followed else None
    visitors = np.array([arm.height for arm in arms], np.int64)
    everyone_so_far, so_far = arms, None
    if any(kind.known is not None for kind in kinds):
        so_far = Totals(conversions=_conversions(arms, kinds), revenue=_all_revenue(arms, kinds))
        arms = [with_known_outcomes(arm, kinds) for arm in arms]
    conversions = _conversions(arms, kinds)
    observed = _observed(arms, kinds)
    shares = Moments.of_shares(conversions, visitors if observed is None else observed)
    quantiles = _quantiles(arms, kinds)
    revenue = _all_revenue(arms, kinds)
    sums = None if kept is None else clusters.sums_by_cluster(arms, goals)
    values = (
        VisitorValues.concatenate([values_of_clusters(of_goal) for of_goal in sums])
        if sums is not None
        else values_of(arms, goals, _plain(arms, kinds, revenue, shares, quantiles))
    )
    evidence = Evidence(
        visitors=visitors,
        conversions=conversions,
        revenue=revenue,
        daily=daily,
        several_variants=several if kept is None else kept.clusters_of_several,
        as_of=as_of,
        last_exposure_at=moment(rows["at"].max()),
        follow_up=None if cohorts is None else cohorts.follow_up(daily),
        largest_cents=_largest_cents(everyone_so_far, kinds),
        largest=largest_of(arms, kinds, values) if kept is None else None,
        observed=observed,
        so_far=so_far,
        with_denominator=_with_denominator(arms, kinds),
        funnels=funnels_of(everyone_so_far, goals),
        quantiles=quantiles,
        values=values,
        clusters=None
        if cluster is None or kept is None or sums is None
        else clusters.clusters_of(everyone_so_far, cluster, kept, sums),
    )
    return Counted(evidence, cohorts)


def _plain(
    arms: Sequence[pl.DataFrame],
    kinds: Sequence[FrameGoal],
    revenue: Moments,
    shares: Moments,
    quantiles: Mapping[int, QuantileEvidence],
) -> Moments:
    """Moments of each goal's plain metric, goals by variants; of a ratio those of its numerator."""
    return Moments.concatenate(
        [
            shares[place : place + 1]
            if kind.is_share
            else revenue[place : place + 1]
            if isinstance(kind, Revenue)
            else quantiles[place].moments()[None]
            if place in quantiles
            else Moments.stack([Moments.of(arm[f"sum_{place}"].drop_nulls().to_numpy()) for arm in arms])[
                None
            ]
            for place, kind in enumerate(kinds)
        ]
    )


def _quantiles(arms: Sequence[pl.DataFrame], kinds: Sequence[FrameGoal]) -> dict[int, QuantileEvidence]:
    """Count the values of goals that are quantiles, by the goal's place."""
    return {
        place: _quantile(kind, [arm[f"sum_{place}"].drop_nulls() for arm in arms])
        for place, kind in enumerate(kinds)
        if isinstance(kind, Quantile)
    }


def _quantile(kind: Quantile, arms: Sequence[pl.Series]) -> QuantileEvidence:
    """Count the values of a goal by variant."""
    return QuantileEvidence.of(kind.q, [quantile_buckets(arm) for arm in arms])


def quantile_buckets(values: pl.Series) -> ClusteredBuckets:
    """Count the values of visitors, or the lists of values of their events."""
    if not isinstance(values.dtype, pl.List):
        return ClusteredBuckets.of(np.arange(len(values)), values.to_numpy())
    who = np.repeat(np.arange(len(values)), values.list.len().to_numpy())
    return ClusteredBuckets.of(who, values.explode().to_numpy())


def _observed(arms: Sequence[pl.DataFrame], kinds: Sequence[FrameGoal]) -> IntArray | None:
    """Count the visitors whose outcome is known; None where every visitor has one."""
    if not any(kind.is_partly_known for kind in kinds):
        return None

    def count_of(arm: pl.DataFrame, place: int, kind: FrameGoal) -> int:
        if kind.known is not None:
            return int(arm[f"known_{place}"].sum())
        return arm[f"sum_{place}"].count() if kind.may_be_unknown else arm.height

    return np.array(
        [[count_of(arm, place, kind) for arm in arms] for place, kind in enumerate(kinds)], np.int64
    )


def _with_denominator(arms: Sequence[pl.DataFrame], kinds: Sequence[FrameGoal]) -> IntArray:
    """Count the visitors whose denominator is above 0, goals by variants; all for a goal without one."""
    return np.array(
        [
            [
                (arm[f"orders_{place}"] > 0).sum() if f"orders_{place}" in arm.columns else arm.height
                for arm in arms
            ]
            for place in range(len(kinds))
        ],
        np.int64,
    )


def _conversions(arms: Sequence[pl.DataFrame], kinds: Sequence[FrameGoal]) -> IntArray:
    """Count the visitors who converted, goals by variants."""
    return np.array([[arm[f"done_{goal}"].sum() for arm in arms] for goal in range(len(kinds))])


def _all_revenue(arms: Sequence[pl.DataFrame], kinds: Sequence[FrameGoal]) -> Moments:
    """Take the moments of cents per visitor, goals by variants."""
    return Moments.concatenate([_revenue(arms, goal, kind) for goal, kind in enumerate(kinds)])


def moment(at: object) -> datetime | None:
    """Convert microseconds since 1970 to a moment in UTC; None stays None."""
    return from_epoch_microseconds(at) if isinstance(at, int) else None


def _revenue(arms: Sequence[pl.DataFrame], goal: int, kind: FrameGoal) -> Moments:
    """Moments of cents per visitor, a column per variant; zeros for a goal without revenue."""
    if isinstance(kind, Revenue):
        return Moments.stack([Moments.of(arm[f"sum_{goal}"].drop_nulls().to_numpy()) for arm in arms])[None]
    return Moments.of_zeros([[arm.height for arm in arms]])


def _largest_cents(arms: Sequence[pl.DataFrame], kinds: Sequence[FrameGoal]) -> IntArray:
    """Find the largest cents of one visitor, goals by variants; 0 for a goal without revenue."""
    return np.array(
        [
            [(arm[f"sum_{goal}"].max() or 0) if isinstance(kind, Revenue) else 0 for arm in arms]
            for goal, kind in enumerate(kinds)
        ],
        np.int64,
    )
