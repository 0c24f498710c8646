"""Analysis by segment: from counts to a segment report."""

from collections.abc import Iterator, Sequence

import numpy as np

from engine.analysis.comparison.plan import AnalysisPlan, plan_analysis
from engine.analysis.evidence.segments import Segment, SegmentEvidence
from engine.analysis.health.segment_sample_ratio import check_splits
from engine.analysis.results.segment_report import GoalSegments, SegmentReport, SegmentSplit
from engine.analysis.segments.effects import segment_effects
from engine.analysis.segments.result_rows import SegmentTable
from engine.analysis.segments.summary import summarize
from engine.design.experiment import Experiment
from engine.stats.bayesian.pooling import Pool, in_closed_form

# More comparisons than this are too many to read, and take too long for one request.
MOST_COMPARISONS = 30_000


def analyze_segments(
    experiment: Experiment,
    evidence: SegmentEvidence,
    *,
    goal_id: str | None = None,
    dimension: str | None = None,
    pool: Pool = in_closed_form,
) -> SegmentReport:
    """Analyze every segment on every goal and variant, adjusted for all the others.

    `goal_id` and `dimension` narrow what is reported, not what is analyzed: no number depends on them.
    Where there are more than MOST_COMPARISONS, the segments with the fewest visitors are left out. `pool`
    shrinks effects to one another: in closed form, or `pooling.by_sampling`. Raises InvalidEvidenceError
    where the evidence is not of this experiment's goals and variants.
    """
    evidence.check_shape(goals=len(experiment.goals), variants=len(experiment.variants))
    plan = plan_analysis(experiment)
    each = max(len(experiment.goals) * (len(experiment.variants) - 1), 1)
    evidence = evidence.largest(MOST_COMPARISONS // each)
    effects = None if plan.control is None else segment_effects(plan, evidence, plan.control, pool)
    table = SegmentTable.of(experiment, plan, evidence, effects)
    splits = tuple(_splits(experiment, plan, evidence))
    mismatched = [Segment(split.dimension, split.value) for split in splits if split.is_alarm]
    rows = [row for row, segment in enumerate(evidence.segments) if dimension in {None, segment.dimension}]
    return SegmentReport(
        experiment=experiment,
        false_discovery_rate=plan.family_alpha,
        comparisons=0 if effects is None else int(effects.enough.sum()),
        goals=tuple(
            _goal_segments(table, place, rows, mismatched)
            for place, goal in enumerate(experiment.goals)
            if goal_id in {None, goal.id}
        ),
        splits=tuple(split for split in splits if dimension in {None, split.dimension}),
        split_alarms=tuple(split for split in splits if split.is_alarm),
        left_out=evidence.left_out,
        as_of=evidence.as_of,
    )


def _goal_segments(
    table: SegmentTable, place: int, rows: list[int], mismatched: Sequence[Segment]
) -> GoalSegments:
    """Report some rows of the goal in that place, and sum up all of them, by size.

    The summary announces no difference by a dimension with `mismatched` segments: not split by weight.
    """
    differing = np.flatnonzero(table.differs[:, place].any(axis=-1))
    by_size = differing[np.argsort(-table.visitors[differing], kind="stable")]
    goal = table.experiment.goals[place]
    return GoalSegments(
        goal=goal,
        summary=summarize(
            goal,
            table.evidence,
            [table.result(row, place) for row in by_size.tolist()],
            is_tested=bool(table.tested[:, place].any()),
            mismatched=mismatched,
            have_weights_changed=table.plan.have_weights_changed,
        ),
        segments=tuple(table.result(row, place) for row in rows),
    )


def _splits(experiment: Experiment, plan: AnalysisPlan, evidence: SegmentEvidence) -> Iterator[SegmentSplit]:
    """Compare each segment's visitors with the weights; nothing where weights don't determine the split."""
    if not plan.is_split_by_weight:
        return
    ids = [variant.id for variant in experiment.variants]
    splits = check_splits(plan, evidence.by_visitors)
    p = np.exp(splits.log_p), np.exp(splits.log_p_adjusted)
    always_valid = np.exp(splits.log_p_always_valid), np.exp(splits.log_p_always_valid_adjusted)
    for row, segment in enumerate(evidence.segments):
        plain, adjusted = (None if np.isnan(values[row]) else float(values[row]) for values in p)
        yield SegmentSplit(
            dimension=segment.dimension,
            value=segment.value,
            visitors=dict(zip(ids, evidence.counts.visitors[row].tolist(), strict=True)),
            p_value=plain,
            always_valid_p_value=float(always_valid[0][row]),
            adjusted_p_value=adjusted,
            adjusted_always_valid_p_value=float(always_valid[1][row]),
            is_alarm=bool(splits.alarm[row]),
        )
