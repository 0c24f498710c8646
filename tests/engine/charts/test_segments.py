"""The forest of segments is valid Vega-Lite, and carries the report's numbers."""

import subprocess
import sys

import pytest

from engine.analysis.results.segment_report import SegmentReport
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.segments.analyze import analyze_segments
from engine.charts.segments import chart_segment_report
from tests.builders import an_experiment
from tests.engine.charts.test_report import rows_of
from tests.segment_counts import Tree, segmented

TREE: Tree = {
    "os": {
        "Android": ([5_000, 5_000], [500, 560]),
        "iOS": ([8_000, 8_000], [800, 700]),
        "Windows": ([50, 50], [9, 9]),
    }
}


def a_report(tree: Tree = TREE) -> SegmentReport:
    return analyze_segments(an_experiment(), segmented(tree))


def test_segments_with_enough_data_are_drawn_with_both_effects_largest_first() -> None:
    report = a_report()
    android, ios, _ = (one.variants[0] for one in report.goals[0].segments)
    assert rows_of(chart_segment_report(report)) == [
        {
            "dimension": "os",
            "value": value,
            "variant": "Treatment 1",
            "observed": arm.improvement,
            "shrunk": arm.shrunk_improvement,
            "low": arm.shrunk_interval.low if arm.shrunk_interval else None,
            "high": arm.shrunk_interval.high if arm.shrunk_interval else None,
            "status": STATUS_WORDS[arm.status].label,
            "visitors": arm.visitors,
        }
        for value, arm in (("iOS", ios), ("Android", android))
    ]


def test_every_status_that_is_drawn_has_a_colour() -> None:
    drawn = {row["status"] for row in rows_of(chart_segment_report(a_report()))}
    assert drawn <= {word.label for word in STATUS_WORDS.values()}


def test_a_dimension_of_many_values_shows_the_largest() -> None:
    tree: Tree = {"country": {str(n): ([1_000 + n] * 2, [100, 100]) for n in range(50)}}
    rows = rows_of(chart_segment_report(a_report(tree), most_values=2))
    assert [row["value"] for row in rows] == ["49", "48"]


def test_a_report_without_segments_draws_an_empty_chart() -> None:
    assert rows_of(chart_segment_report(a_report({"os": {"iOS": ([0, 0], [0, 0])}}))) == []


def test_a_goal_that_the_report_does_not_have_is_named() -> None:
    with pytest.raises(ValueError, match="has no goal 'goal_9'"):
        chart_segment_report(a_report(), "goal_9")


def test_it_is_imported_without_altair() -> None:
    program = "import sys, engine.charts.segments; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
