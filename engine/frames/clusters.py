"""Clusters in rows of a DataFrame: what was assigned as a whole, and sums of goals by cluster."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from engine.analysis.evidence.clusters import ClusterEvidence
from engine.analysis.evidence.visitor_values import VisitorValues, no_pairs
from engine.design.analysis_settings import Statistics
from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile
from engine.frames.rows import Columns
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments, triple_moment


class Kept(NamedTuple):
    """Rows of clusters of one variant, with the clusters and the visitors of several that are left out."""

    rows: pl.DataFrame
    clusters_of_several: int
    visitors_of_several: int


def require_clusters_apply(columns: Columns, statistics: Statistics, *, has_epochs: bool) -> None:
    """Raise InvalidEvidenceError for what is not compared by cluster."""
    if columns.cluster is None:
        return
    if has_epochs:
        raise InvalidEvidenceError(
            "by cluster there are no changed weights: leave out weight_epochs or cluster"
        )
    if statistics.prior == "pre_period":
        raise InvalidEvidenceError(
            "by cluster there is no prior from the pre-period, which is of visitors: take 'flat' or 'lift'"
        )
    if columns.cluster in {columns.variant, columns.visitor}:
        raise InvalidEvidenceError(
            f"cluster is a column of its own, such as 'account', and not that of the variant or the visitor"
            f" ({columns.cluster!r})"
        )
    for name, goal in columns.goals.items():
        if isinstance(goal, Quantile):
            raise InvalidEvidenceError(
                f"by cluster there are no quantiles: leave out {name!r}, or take its mean"
            )
        if goal.percentile is not None:
            raise InvalidEvidenceError(f"by cluster there are no caps: leave cap_percentile out of {name!r}")


def of_one_variant(rows: pl.DataFrame) -> Kept:
    """Leave out the clusters that were seen in several variants, with all their visitors.

    A visitor has one cluster: what it did cannot be divided among several. Raises InvalidEvidenceError for
    one that has several, which a health check could not mend.
    """
    visitors = rows.group_by("visitor").agg(pl.col("cluster").n_unique().alias("clusters"))
    if (several := visitors.filter(pl.col("clusters") > 1)).height:
        raise InvalidEvidenceError(
            f"{several.height:,} visitors are in several clusters, such as {several['visitor'].min()!r}: a"
            " visitor belongs to one; if one person is a visitor in each, let the id name both"
        )
    is_mixed = pl.col("variant").n_unique().over("cluster") > 1
    numbered = rows.with_columns(is_mixed.alias("is_mixed"), pl.col("cluster").rank("dense").cast(pl.Int64))
    apart = numbered.filter("is_mixed")
    return Kept(
        rows=numbered.filter(~pl.col("is_mixed")).drop("is_mixed"),
        clusters_of_several=apart["cluster"].n_unique(),
        visitors_of_several=apart["visitor"].n_unique(),
    )


def clusters_of(
    arms: Sequence[pl.DataFrame], cluster: str, values: VisitorValues, visitors_of_several: int
) -> ClusterEvidence:
    """Count the clusters of each variant's visitors, and those of each goal by its `values`."""
    return ClusterEvidence(
        by=cluster,
        total=np.array([arm["cluster"].n_unique() for arm in arms], np.int64),
        known=values.orders.n.astype(np.int64),
        visitors_of_several=visitors_of_several,
    )


def cluster_values(arms: Sequence[pl.DataFrame], goals: Mapping[str, FrameGoal]) -> VisitorValues:
    """Take the moments of sums by cluster, one frame of visitors per variant.

    A cluster's numerator is the sum of its visitors' values, or the number of those who converted, and its
    denominator that of the goal: for a mean or a share, its visitors with a known outcome. Clusters without
    such a visitor are left out. So each goal is a ratio of sums over clusters, whose error is theirs; Deng,
    Knoblich and Lu (2018), "Applying the delta method in metric analytics", KDD, section 3.2.
    """
    return VisitorValues.concatenate(
        [_values_of_goal(arms, place, goal) for place, goal in enumerate(goals.values())]
    )


def _values_of_goal(arms: Sequence[pl.DataFrame], place: int, goal: FrameGoal) -> VisitorValues:
    centre = _mean_before(arms, place)
    sums = [_sums_by_cluster(arm, place, goal, centre) for arm in arms]
    x, y, z = ([one[name].to_numpy() for one in sums] for name in ("x", "y", "z"))
    nothing = no_pairs((1, len(arms)))
    of_z = (
        (nothing, nothing, np.full((1, len(arms)), np.nan))
        if centre is None
        else (
            _pairs(z, y),
            _pairs(z, x),
            np.array([[triple_moment(*one) for one in zip(z, y, x, strict=True)]]),
        )
    )
    return VisitorValues(
        value=Moments.stack([Moments.of(one) for one in y])[None],
        caps=np.full(1, np.nan),
        capped=np.zeros((1, len(arms)), np.int64),
        orders=_pairs(x, y),
        before=of_z[0],
        before_orders=of_z[1],
        without_before=nothing.x,
        triple=of_z[2],
        nonzero=np.array([[np.count_nonzero(one) for one in y]], np.float64),
        largest_orders=np.array([[one.max(initial=0.0) for one in x]]),
    )


def _sums_by_cluster(arm: pl.DataFrame, place: int, goal: FrameGoal, centre: float | None) -> pl.DataFrame:
    """Add up a goal by cluster: `x`, `y`, and `z`, what visitors had before over the mean of all."""
    y = pl.col(f"done_{place}" if goal.is_share else f"sum_{place}").cast(pl.Float64)
    x = pl.col(f"orders_{place}") if f"orders_{place}" in arm.columns else pl.lit(1.0)
    # A visitor of whom nothing is known from before counts as the mean, which adjusts nothing.
    z = (
        pl.lit(0.0)
        if centre is None
        else (pl.col(f"before_{place}").cast(pl.Float64) - centre).fill_null(0.0)
    )
    if goal.known is not None:
        arm = arm.filter(pl.col(f"known_{place}") == 1)
    elif goal.may_be_unknown:
        arm = arm.filter(pl.col(f"sum_{place}").is_not_null())
    parts = arm.select("cluster", x.cast(pl.Float64).alias("x"), y.alias("y"), z.alias("z"))
    return parts.group_by("cluster", maintain_order=True).sum()


def _mean_before(arms: Sequence[pl.DataFrame], place: int) -> float | None:
    """Return the mean of a goal's covariate over all visitors with one; None without any."""
    if any(name.startswith(f"before_{place}_") for name in arms[0].columns):
        raise InvalidEvidenceError("by cluster a covariate is one number, of which visitors have sums")
    if f"before_{place}" not in arms[0].columns:
        return None
    mean = pl.concat([arm[f"before_{place}"].cast(pl.Float64) for arm in arms]).mean()
    return mean if isinstance(mean, float) else None


def _pairs(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> PairedMoments:
    return PairedMoments.stack([PairedMoments.of(x, y) for x, y in zip(first, second, strict=True)])[None]
