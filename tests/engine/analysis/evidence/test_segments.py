from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.segments import Segment, SegmentVisitors, dimensions_of
from engine.errors import InvalidEvidenceError
from engine.stats.moments import Moments
from tests.observations import observed
from tests.segment_counts import counts_of, of_visitors, segmented

TREE = {"os": {"iOS": ([100, 110], [5, 9]), "Android": ([300, 290], [20, 31])}}


def test_rest_is_everybody_else_and_those_of_unknown_value() -> None:
    rest = segmented(TREE, unknown=([7, 8], [1, 2])).rest
    assert rest.visitors.tolist() == [[307, 298], [107, 118]]
    assert rest.conversions[:, 0].tolist() == [[21, 33], [6, 11]]


def test_money_of_the_rest_is_that_of_its_visitors() -> None:
    rng = np.random.default_rng(3)
    values, arms = rng.choice(["a", "b", ""], 400), rng.integers(0, 2, 400)
    cents = rng.lognormal(8, 1, 400).round()
    evidence = of_visitors({"plan": values}, arms, cents)
    for row, value in enumerate(("a", "b")):
        for arm in (0, 1):
            others = cents[(values != value) & (arms == arm)]
            found = evidence.rest.revenue[row, 0, arm]
            assert found.mean == pytest.approx(others.mean())
            assert found.variance == pytest.approx(others.var(ddof=1))


def test_segment_named_twice_is_refused() -> None:
    evidence = segmented(TREE)
    with pytest.raises(InvalidEvidenceError, match="named twice"):
        replace(evidence, segments=(Segment("os", "iOS"),) * 2)


def test_more_than_everyone_is_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="than everyone"):
        replace(segmented(TREE), everyone=counts_of([299, 400], [[25, 40]]))


def test_numbers_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="not of the same"):
        counts_of([1, 2], [[0, 0]], Moments.full((2, 2), 0.0))
    with pytest.raises(InvalidEvidenceError, match=r"values \(2, 2\) are not of the same"):
        replace(counts_of([1, 2], [[0, 0]]), values=Moments.full((2, 2), 0.0))
    with pytest.raises(InvalidEvidenceError, match="between 0 and"):
        counts_of([1, 2], [[2, 0]])
    with pytest.raises(InvalidEvidenceError, match="must have the shape"):
        replace(segmented(TREE), segments=(Segment("os", "iOS"),))
    with pytest.raises(InvalidEvidenceError, match="a row of visitors"):
        SegmentVisitors((Segment("os", "iOS"),), np.zeros((2, 2), np.int64))


def test_evidence_takes_segments_of_its_own_variants_only() -> None:
    known = SegmentVisitors((Segment("os", "iOS"),), np.array([[5, 6]]))
    assert observed([9, 9], [1, 1], segments=known).segments == known
    with pytest.raises(InvalidEvidenceError, match="segments"):
        observed([9, 9, 9], [1, 1, 1], segments=known)
    assert Evidence.empty(1, 2).segments is None


def test_largest_segments_are_kept_in_order_and_the_others_are_said_to_be_missing() -> None:
    tree = {"os": {str(size): ([size, size], [1, 1]) for size in (30, 10, 50, 20, 40)}}
    kept = segmented(tree).largest(3)
    assert [one.value for one in kept.segments] == ["30", "50", "40"]
    assert kept.counts.visitors[:, 0].tolist() == [30, 50, 40]
    assert kept.everyone.visitors.tolist() == [150, 150]
    assert kept.left_out == {"smallest": "2 segments with the fewest visitors: at most 3 are judged at once"}
    assert segmented(tree).largest(5).left_out == {}


def test_dimensions_have_the_rows_of_their_segments() -> None:
    segments = [Segment("os", "a"), Segment("custom:plan", "x"), Segment("os", "b")]
    assert {name: rows.tolist() for name, rows in dimensions_of(segments).items()} == {
        "os": [0, 2],
        "custom:plan": [1],
    }
    assert str(segments[1]) == "plan 'x'"
    assert str(Segment("device_type", "mobile")) == "device type 'mobile'"
