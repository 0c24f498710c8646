"""Whatever was counted, a segment report holds numbers that make sense, or None with a reason."""

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.evidence.segments import Segment, SegmentEvidence
from engine.analysis.results.segment_report import SegmentVariant
from engine.analysis.segments.analyze import analyze_segments
from engine.stats.moments import Moments
from tests.builders import a_goal, an_experiment
from tests.examples import examples
from tests.segment_counts import counts_of

GOALS = (a_goal(), a_goal(id="paid", name="Paid", goal_type="revenue", is_primary=False, config={}))
VISITORS = st.one_of(st.integers(0, 3), st.integers(90, 400), st.just(10**9))


@st.composite
def evidence(draw: st.DrawFn) -> SegmentEvidence:
    """Up to five segments of two dimensions, and a rest; means may be below zero and nothing may vary."""
    sizes = draw(st.lists(st.tuples(VISITORS, VISITORS), min_size=1, max_size=6))
    n = np.array(sizes, np.int64)
    share = st.sampled_from([0.0, 0.01, 0.5, 0.99, 1.0])
    hits = np.array([[[round(int(v) * draw(share)) for v in row] for _ in GOALS] for row in n], np.int64)
    means = st.sampled_from([0.0, -5.0, 0.001, 100.0, 1e9])
    spreads = st.sampled_from([0.0, 1e-9, 100.0, 1e9])
    shape = hits.shape
    everybody = np.broadcast_to(n[:, None], shape).astype(np.float64)
    seen = everybody > 0
    mean = np.array([draw(means) for _ in range(hits.size)]).reshape(shape) * seen
    spread = np.array([draw(spreads) for _ in range(hits.size)]).reshape(shape)
    parts = counts_of(n, hits, Moments(everybody, mean, spread**2 * np.maximum(everybody - 1, 0)))
    known = np.arange(len(n) - 1)
    whole = counts_of(n.sum(axis=0), hits.sum(axis=0), parts.revenue.sum_over(0))
    segments = tuple(Segment("os", str(row)) for row in known.tolist())
    return SegmentEvidence(segments=segments, counts=parts[known], everyone=whole)


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for one in value.values() for number in numbers_in(one)]
    if isinstance(value, list | tuple):
        return [number for one in value for number in numbers_in(one)]
    return [value] if isinstance(value, float) else []


def makes_sense(found: SegmentVariant) -> bool:
    for p in (found.adjusted_p_value, found.adjusted_p_value_vs_rest, found.chance_to_beat):
        if p is not None and not 0 <= p <= 1:
            return False
    if (found.status == "insufficient_data") != (found.reason or "").startswith("both variants require"):
        return False
    interval, believed = found.shrunk_interval, found.shrunk_improvement
    if interval is None or interval.low is None or interval.high is None or believed is None:
        return found.reason is not None
    slack = 1e-9 * (1 + abs(believed))
    return interval.low - slack <= believed <= interval.high + slack


@examples(50, 150, seconds=5)
@given(evidence(), st.sampled_from(["increase", "decrease"]))
def test_numbers_make_sense_or_there_is_a_reason(found: SegmentEvidence, direction: str) -> None:
    goals = tuple(replace(goal, config={**goal.config, "direction": direction}) for goal in GOALS)
    report = analyze_segments(an_experiment(goals=goals), found)
    for goal in report.goals:
        assert goal.summary
        for one in goal.segments:
            assert all(math.isfinite(number) for number in numbers_in(asdict(one)))
            wrong = [asdict(variant) for variant in one.variants if not makes_sense(variant)]
            assert wrong == [], str(wrong)
    assert all(math.isfinite(number) for one in report.splits for number in numbers_in(asdict(one)))


@examples(20, 80, seconds=4)
@given(evidence(), st.randoms())
def test_the_order_of_segments_does_not_matter(found: SegmentEvidence, random: Any) -> None:
    order = list(range(len(found.segments)))
    random.shuffle(order)
    rows = np.array(order, np.int64)
    shuffled = replace(found, segments=tuple(found.segments[row] for row in order), counts=found.counts[rows])
    first, second = (analyze_segments(an_experiment(goals=GOALS), one) for one in (found, shuffled))
    assert len(first.goals) == len(GOALS)
    for ours, theirs in zip(first.goals, second.goals, strict=True):
        statuses = [
            {one.value: [variant.status for variant in one.variants] for one in goal.segments}
            for goal in (ours, theirs)
        ]
        assert statuses[0] == statuses[1]
