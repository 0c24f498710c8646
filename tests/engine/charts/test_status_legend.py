from typing import get_args

from engine.analysis.results.segment_report import SegmentStatus
from engine.analysis.results.variant_result import VariantStatus
from engine.charts.status_legend import legend_of


def test_a_legend_has_what_is_drawn_once_and_in_one_order() -> None:
    words, colours, shapes = legend_of(["inconclusive", "loser", "winner", "loser"])
    assert words == ["Better", "Worse", "Unclear"]
    assert len(set(colours)) == len(set(shapes)) == 3
    assert legend_of([]) == ([], [], [])


def test_statuses_that_are_drawn_together_differ_in_colour_or_shape() -> None:
    for drawn in (get_args(VariantStatus)[1:], get_args(SegmentStatus)):
        assert len(set(zip(*legend_of(drawn), strict=True))) == len(drawn)
