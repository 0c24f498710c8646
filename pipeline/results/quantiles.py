"""Quantiles from sums by bucket: the evidence of goals that are judged on one."""

from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.analysis.evidence.segment_quantiles import SegmentQuantiles
from engine.analysis.evidence.totals import Totals
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.measures.sums import BUCKET_SUMS
from engine.stats.clustered_buckets import ClusteredBuckets
from engine.stats.moments import Moments

NO_VALUES: Final = ClusteredBuckets(np.zeros(0, np.int64), np.zeros((4, 0), np.int64), 0)
_SUMS: Final = ("counts", "squares", "with_lower", "with_others")


def arms_of(
    experiment: Experiment, cells: pl.DataFrame, *further: str
) -> dict[tuple[int, ...], ClusteredBuckets]:
    """Arrange sums by bucket, over all days, by the `further` columns, goal and variant."""
    keys = [*further, "goal", "variant"]
    values, lower, others = (pl.col("sum") == name for name in BUCKET_SUMS)
    total = pl.col("cohort_total")
    counted = (
        cells.filter(pl.col("bucket").is_not_null() & (pl.col("variant") < len(experiment.variants)))
        .group_by(*keys, "bucket")
        .agg(
            total.filter(values).sum().alias("counts"),
            pl.col("cohort_squared").filter(values).sum().cast(pl.Int64).alias("squares"),
            total.filter(lower).sum().alias("with_lower"),
            total.filter(others).sum().alias("with_others"),
            pl.col("cohort_conversions").filter(values).sum().alias("visitors"),
        )
        .filter(pl.col("counts") > 0)
        .sort("bucket")
    )
    return {
        tuple(map(int, key)): ClusteredBuckets(
            rows["bucket"].to_numpy(), rows.select(_SUMS).to_numpy().T, int(rows["visitors"].sum())
        )
        for key, rows in counted.partition_by(keys, as_dict=True).items()
    }


def evidence_of_arms(goal: Goal, arms: tuple[ClusteredBuckets, ...]) -> QuantileEvidence:
    """Take the arms of a goal, at its share."""
    return QuantileEvidence.of(goal.tracking["q"], arms)


def quantile_goals(experiment: Experiment) -> dict[int, Goal]:
    """Map the rows of goals that are quantiles to these."""
    return {row: goal for row, goal in enumerate(experiment.goals) if goal.measure.is_quantile}


def quantiles_by_segment(experiment: Experiment, cells: pl.DataFrame) -> dict[int, SegmentQuantiles]:
    """Arrange sums by bucket by the `row` of their segment; the last row is of all visitors."""
    goals = quantile_goals(experiment)
    if not goals:
        return {}
    found, rows = arms_of(experiment, cells, "row"), int(cells.select(pl.col("row").max()).item() or 0)
    columns = range(len(experiment.variants))
    arms = {
        goal: [
            tuple(found.get((row, goal, column), NO_VALUES) for column in columns) for row in range(rows + 1)
        ]
        for goal in goals
    }
    return {
        place: SegmentQuantiles(goal.tracking["q"], tuple(arms[place][:-1]), arms[place][-1])
        for place, goal in goals.items()
    }


def with_quantiles(experiment: Experiment, evidence: Evidence, cells: pl.DataFrame) -> Evidence:
    """Add the quantiles of goals that are judged on one, which are of visitors with a value.

    `cells` are aligned to the experiment, and leave out the visitors whose outcome is not known yet. Where
    weights changed there are none: quantiles cannot be averaged over epochs.
    """
    goals = quantile_goals(experiment)
    if not goals or evidence.values is None:
        return evidence
    found = arms_of(experiment, cells)
    columns = range(len(experiment.variants))
    quantiles = {
        row: evidence_of_arms(goal, tuple(found.get((row, column), NO_VALUES) for column in columns))
        for row, goal in goals.items()
    }
    value = evidence.values.value.map(np.copy)
    for row, quantile in quantiles.items():
        value[row] = quantile.moments()
    evidence = replace(evidence, values=replace(evidence.values, value=value))
    if evidence.epochs is not None:
        by_epoch = evidence.epochs.values.map(np.copy)
        by_epoch[:, list(goals)] = Moments.full(by_epoch[:, list(goals)].n.shape, 0.0)
        return replace(evidence, epochs=replace(evidence.epochs, values=by_epoch))
    conversions, observed = evidence.conversions.copy(), evidence.trials.copy()
    revenue = evidence.revenue.map(np.copy)
    for row, quantile in quantiles.items():
        conversions[row] = observed[row] = quantile.visitors
        revenue[row] = evidence.totals.revenue[row]
    return replace(
        evidence,
        conversions=conversions,
        observed=observed,
        revenue=revenue,
        so_far=Totals(conversions=evidence.totals.conversions, revenue=evidence.totals.revenue),
        quantiles=quantiles,
    )
