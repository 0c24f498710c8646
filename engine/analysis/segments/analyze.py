"""From counts by segment to a report: `analyze_segments` judges every segment in one go."""

from collections.abc import Iterator

import numpy as np

from engine.analysis.comparison.metrics import control_column
from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.health.segment_sample_ratio import check_splits, have_weights_moved, is_split_by_weight
from engine.analysis.results.segment_report import (
    GoalSegments,
    SegmentArm,
    SegmentReport,
    SegmentResult,
    SegmentSplit,
    SegmentStatus,
    SegmentVariant,
)
from engine.analysis.segments.effects import segment_effects
from engine.analysis.segments.result_rows import SegmentTable
from engine.analysis.segments.summary import sum_up
from engine.design.experiment import Experiment
from engine.stats.bayesian.pooling import Pool, in_closed_form

__all__ = [
    "GoalSegments",
    "SegmentArm",
    "SegmentReport",
    "SegmentResult",
    "SegmentSplit",
    "SegmentStatus",
    "SegmentVariant",
    "analyze_segments",
]

# More comparisons than this are too many to read, and take too long to make while somebody waits.
MOST_COMPARISONS = 30_000


def analyze_segments(
    experiment: Experiment,
    evidence: SegmentEvidence,
    *,
    goal_id: str | None = None,
    dimension: str | None = None,
    pool: Pool = in_closed_form,
) -> SegmentReport:
    """Judge every segment on every goal and variant, with all the others in mind.

    `goal_id` and `dimension` narrow what is told, not what is judged: no number depends on them. Where
    there are more than MOST_COMPARISONS, the segments with the fewest visitors are left out. `pool` draws
    effects to one another: in closed form, or `pooling.by_sampling`. Raises
    InvalidEvidenceError where the evidence is not of this experiment's goals and variants.
    """
    evidence.check_shape(goals=len(experiment.goals), variants=len(experiment.variants))
    each = max(len(experiment.goals) * (len(experiment.variants) - 1), 1)
    judged = evidence.largest(MOST_COMPARISONS // each)
    alpha = (100 - experiment.confidence_level) / 100
    control = control_column(experiment)
    findings = None if control is None else segment_effects(experiment, judged, control, alpha, pool)
    cells = SegmentTable.of(experiment, judged, control, findings, alpha)
    splits = tuple(_splits(experiment, judged))
    return SegmentReport(
        experiment=experiment,
        false_discovery_rate=alpha,
        comparisons=0 if findings is None else int(findings.enough.sum()),
        goals=tuple(
            GoalSegments(
                goal=goal,
                summary=_summary(cells, place),
                segments=tuple(
                    cells.result(row, place)
                    for row, one in enumerate(judged.segments)
                    if dimension in {None, one.dimension}
                ),
            )
            for place, goal in enumerate(experiment.goals)
            if goal_id in {None, goal.id}
        ),
        splits=tuple(one for one in splits if dimension in {None, one.dimension}),
        split_alarms=tuple(one for one in splits if one.is_alarm),
        left_out=judged.left_out,
        as_of=judged.as_of,
    )


def _summary(cells: SegmentTable, goal: int) -> str:
    """Whether the effect differs anywhere; the segments in which it does are named by size."""
    rows = np.flatnonzero(cells.differs[:, goal].any(axis=-1))
    by_size = rows[np.argsort(-cells.visitors[rows], kind="stable")]
    return sum_up(
        cells.experiment.goals[goal],
        cells.evidence,
        [cells.result(row, goal) for row in by_size.tolist()],
        is_tested=bool(cells.tested[:, goal].any()),
        have_weights_moved=have_weights_moved(cells.experiment),
    )


def _splits(experiment: Experiment, evidence: SegmentEvidence) -> Iterator[SegmentSplit]:
    """How each segment's visitors fit the weights; nothing where weights don't say how they split."""
    if not is_split_by_weight(experiment):
        return
    ids = [variant.id for variant in experiment.variants]
    checked = check_splits(experiment, evidence.by_visitors)
    p = np.exp(checked.log_p), np.exp(checked.log_p_adjusted)
    always_valid = np.exp(checked.log_p_always_valid), np.exp(checked.log_p_always_valid_adjusted)
    for row, segment in enumerate(evidence.segments):
        plain, adjusted = (None if np.isnan(of[row]) else float(of[row]) for of in p)
        yield SegmentSplit(
            dimension=segment.dimension,
            value=segment.value,
            visitors=dict(zip(ids, evidence.counts.visitors[row].tolist(), strict=True)),
            p_value=plain,
            always_valid_p_value=float(always_valid[0][row]),
            adjusted_p_value=adjusted,
            adjusted_always_valid_p_value=float(always_valid[1][row]),
            is_alarm=bool(checked.alarm[row]),
        )
