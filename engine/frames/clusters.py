"""Clusters in rows of a DataFrame: what was assigned as a whole, and sums of goals by cluster."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from engine.analysis.evidence.cluster_sums import ClusterSums, design_effect_of
from engine.analysis.evidence.clusters import ClusterEvidence
from engine.design.analysis_settings import Statistics
from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile
from engine.frames.rows import Columns

# By goal and variant.
Sums = Sequence[Sequence[ClusterSums]]


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


def clusters_of(arms: Sequence[pl.DataFrame], cluster: str, kept: Kept, sums: Sums) -> ClusterEvidence:
    """Count the clusters of each variant's visitors, and those of each goal by its `sums`."""
    alike = np.array([design_effect_of(of_goal) for of_goal in sums])
    return ClusterEvidence(
        by=cluster,
        total=np.array([arm["cluster"].n_unique() for arm in arms], np.int64),
        known=np.array([[len(arm.n) for arm in of_goal] for of_goal in sums], np.int64),
        visitors_of_several=kept.visitors_of_several,
        design_effect=alike[:, 0],
        correlation=alike[:, 1],
    )


def sums_by_cluster(arms: Sequence[pl.DataFrame], goals: Mapping[str, FrameGoal]) -> Sums:
    """Add up each goal by cluster, one frame of visitors per variant.

    A cluster's numerator is the sum of its visitors' values, or the number of those who converted, and its
    denominator that of the goal: for a mean or a share, its visitors with a known outcome. Clusters without
    such a visitor are left out.
    """
    return [
        [_sums_of_goal(arm, place, goal, _mean_before(arms, place)) for arm in arms]
        for place, goal in enumerate(goals.values())
    ]


def _sums_of_goal(arm: pl.DataFrame, place: int, goal: FrameGoal, centre: float | None) -> ClusterSums:
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
    products = parts.select(
        *((pl.col(one) * pl.col(other)).sum().alias(one + other) for one, other in ("xx", "xy", "yy"))
    )
    sums = parts.group_by("cluster", maintain_order=True).agg(
        pl.len().alias("n"), pl.col("x", "y", "z").sum()
    )
    return ClusterSums(
        n=sums["n"].cast(pl.Float64).to_numpy(),
        x=sums["x"].to_numpy(),
        y=sums["y"].to_numpy(),
        z=None if centre is None else sums["z"].to_numpy(),
        **products.row(0, named=True),
    )


def _mean_before(arms: Sequence[pl.DataFrame], place: int) -> float | None:
    """Return the mean of a goal's covariate over all visitors with one; None without any."""
    if any(name.startswith(f"before_{place}_") for name in arms[0].columns):
        raise InvalidEvidenceError("by cluster a covariate is one number, of which visitors have sums")
    if f"before_{place}" not in arms[0].columns:
        return None
    mean = pl.concat([arm[f"before_{place}"].cast(pl.Float64) for arm in arms]).mean()
    return mean if isinstance(mean, float) else None
