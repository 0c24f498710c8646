"""Evidence by weight epoch from rows of a DataFrame."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl

from engine.analysis.comparison.metrics import metric_moments_of_all
from engine.analysis.evidence.epochs import SETTLING, EpochEvidence
from engine.analysis.evidence.evidence import Evidence
from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import (
    Converted,
    Count,
    Funnel,
    Ratio,
    Revenue,
    Value,
    require_kinds,
    require_unadjusted,
)
from engine.local_days import epoch_microseconds
from engine.stats.moments import Moments

# Start of each weight epoch, with its weights by variant.
WeightEpochs = Sequence[tuple[datetime, Mapping[str, float]]]
_MICROSECOND = timedelta(microseconds=1)


def require_goals_of_epochs(goals: Mapping[str, FrameGoal]) -> None:
    """Raise InvalidEvidenceError for goals that are not compared epoch by epoch."""
    kinds = (Converted, Funnel, Revenue, Count, Value, Ratio)
    require_kinds(goals, "an analysis with changed weights", *kinds)
    require_unadjusted(goals, "where weights changed there can be no covariates, orders or caps")


def with_epochs(
    evidence: Evidence,
    rows: pl.DataFrame,
    epochs: WeightEpochs,
    *,
    variants: Sequence[str],
    count: Callable[[pl.DataFrame], Evidence],
) -> Evidence:
    """Add the evidence of each weight epoch to that of all `rows`; `count` counts rows.

    A visitor belongs to the epoch of the first row. Raises InvalidEvidenceError for rows without times,
    epochs without a time zone or out of order, and weights that miss a variant.
    """
    if len(epochs) < 2:
        return evidence
    _validate(rows, epochs, variants)
    starts = pl.Series([epoch_microseconds(start) for start, _ in epochs[1:]])
    first = rows.with_columns(pl.col("at").min().over("visitor").alias("first"))
    numbered = first.with_columns(starts.search_sorted(first["first"], "right").alias("epoch"))
    began = pl.concat([pl.Series([-(2**62)]), starts + SETTLING // _MICROSECOND])
    settled = numbered.filter(pl.col("first") >= began.gather(numbered["epoch"]))
    parts, kept = (
        [count(some.filter(pl.col("epoch") == epoch)) for epoch in range(len(epochs))]
        for some in (numbered, settled)
    )
    return replace(
        evidence,
        epochs=EpochEvidence(
            started_at=tuple(start for start, _ in epochs),
            weights=np.array([[weights[arm] for arm in variants] for _, weights in epochs], np.float64),
            visitors=np.stack([part.visitors for part in parts]),
            settled=np.stack([part.visitors for part in kept]),
            conversions=np.stack([part.conversions for part in parts]),
            observed=np.stack([part.trials for part in parts]),
            revenue=Moments.stack([part.revenue for part in parts]),
            values=Moments.stack(
                [
                    part.revenue if part.values is None else metric_moments_of_all(part.values)
                    for part in parts
                ]
            ),
        ),
    )


def _validate(rows: pl.DataFrame, epochs: WeightEpochs, variants: Sequence[str]) -> None:
    if rows["at"].null_count():
        raise InvalidEvidenceError("weight_epochs need a timestamp column, to tell who came in which")
    starts = [start for start, _ in epochs]
    if any(start.tzinfo is None for start in starts) or starts != sorted(starts):
        raise InvalidEvidenceError("weight_epochs start at times of a time zone, each after the one before")
    for start, weights in epochs:
        if missing := [arm for arm in variants if arm not in weights]:
            raise InvalidEvidenceError(
                f"weights since {start.isoformat()} say nothing of {', '.join(map(repr, missing))}"
            )
