"""Segment analysis of an experiment in a DataFrame, with the same report as the service."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.results.segment_report import SegmentReport
from engine.analysis.segments.analyze import analyze_segments
from engine.currencies import USUAL_CURRENCY
from engine.design.experiment import Experiment
from engine.design.weight_epochs import WeightEpoch
from engine.errors import InvalidEvidenceError
from engine.frames.epochs import WeightEpochs
from engine.frames.former_arguments import refuse_former_arguments
from engine.frames.frame_experiment import FrameExperiment
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import (
    Converted,
    Count,
    Funnel,
    Goals,
    Quantile,
    Ratio,
    Revenue,
    Value,
    goals_of,
    require_kinds,
    require_unadjusted,
)
from engine.frames.lazy.engine_queries import is_engine_table
from engine.frames.lazy.lazy_rows import lazy_rows
from engine.frames.lazy.lazy_segments import count_segments_lazy
from engine.frames.observations import are_sums_enough, require_one_source
from engine.frames.rows import Columns, read_rows, table_of
from engine.frames.seen import Seen, seen_in
from engine.frames.segment_rows import count_segments_of_rows
from engine.frames.sums.sum_segments import count_segments
from engine.frames.sums.sum_table import SumTable
from engine.stats.bayesian.pooling import by_sampling, in_closed_form
from engine.stats.bayesian.sampling import Sampling
from engine.vocabulary import TrafficStrategy

__all__ = ["analyze_frame_segments"]

# Counts the segments of variants in a given order.
_Count: TypeAlias = Callable[[Sequence[str]], SegmentEvidence]


@refuse_former_arguments
def analyze_frame_segments(  # noqa: PLR0913  # as `analyze_frame`
    df: Any = None,  # noqa: ANN401  # any frame that narwhals supports
    *,
    segments: Sequence[str],
    control: object,
    goals: Goals,
    variant: str = "variant",
    visitor: str | None = None,
    timestamp: str | None = None,
    sums: Any = None,  # noqa: ANN401  # as df
    weights: Mapping[str, float] | None = None,
    weight_epochs: WeightEpochs = (),
    traffic_strategy: TrafficStrategy = "fixed",
    confidence_level: int = 95,
    sampling: Sampling | None = None,
    currency: str = USUAL_CURRENCY,
    name: str = "Data frame",
) -> SegmentReport:
    """Analyze every value of the columns `segments`, on every goal and variant, as one family.

    A visitor with several rows has the segments of the earliest one, or of the first in the frame without
    times; a null is in no segment of that column. Goals are conversions, funnels, revenue, counts, values,
    ratios and quantiles, without covariates, orders and caps; guardrails and `minimum_effect` are of the
    decision on all visitors, and change nothing here. Everything else is as in `truelift.analyze`. With
    `sampling` the effects are pooled by a sampled hierarchical model (PyMC, from the extra `bayes`) instead
    of in closed form. `sums` instead of `df` is a table of sums as there, with the segments of each row, and
    without ratios and quantiles. Raises InvalidEvidenceError and InvalidDesignError as `truelift.analyze`
    does, and NotConvergedError, MissingSamplerError and SamplingError where sampling fails.
    """
    if not segments:
        raise InvalidEvidenceError("name at least one column as a segment")
    require_one_source(df, sums, weight_epochs)
    columns = Columns(
        variant=variant,
        goals=_goals_of_segments(goals, has_rows=sums is None),
        visitor=visitor,
        timestamp=timestamp,
        segments=tuple(dict.fromkeys(segments)),
        currency=currency,
    )
    seen, count = _counted_rows(df, columns) if sums is None else _counted_sums(sums, columns)
    settings = FrameExperiment(
        name=name,
        control=str(control),
        weights=weights,
        confidence_level=confidence_level,
        traffic_strategy=traffic_strategy,
    )
    experiment = settings.of(seen, columns.goals)
    experiment = replace(experiment, weight_epochs=tuple(_epochs(experiment, weight_epochs)))
    arms = [one.name for one in experiment.variants]
    pool = in_closed_form if sampling is None else by_sampling(sampling)
    return analyze_segments(experiment, count(arms), pool=pool)


def _goals_of_segments(goals: Goals, *, has_rows: bool) -> dict[str, FrameGoal]:
    """Return the goals; InvalidEvidenceError for those that are not compared by segment."""
    found, kinds = goals_of(goals), (Converted, Funnel, Revenue, Count, Value)
    if has_rows:
        require_kinds(found, "an analysis by segment", *kinds, Ratio, Quantile)
    else:
        require_kinds(found, "an analysis of sums by segment", *kinds)
    require_unadjusted(found, "an analysis by segment takes no covariates, orders or caps")
    return found


def _counted_rows(df: Any, columns: Columns) -> tuple[Seen, _Count]:  # noqa: ANN401  # any frame
    table = table_of(df)
    if is_engine_table(table) and are_sums_enough(table, columns):
        lazy = lazy_rows(table, columns)
        return lazy.seen, partial(count_segments_lazy, lazy)
    rows = read_rows(df, columns)
    return seen_in(rows), partial(count_segments_of_rows, rows, columns)


def _counted_sums(sums: Any, columns: Columns) -> tuple[Seen, _Count]:  # noqa: ANN401  # any frame
    table = SumTable.of(sums, columns)
    return table.seen, lambda arms: count_segments(table.rows, table.count(arms), columns.segments)


def _epochs(experiment: Experiment, epochs: WeightEpochs) -> Iterator[WeightEpoch]:
    """Convert weight epochs to the experiment's, with weights by variant id."""
    for started_at, weights in epochs:
        by_id = {arm.id: weights[arm.name] for arm in experiment.variants if arm.name in weights}
        yield WeightEpoch(started_at=started_at, weights=by_id)
