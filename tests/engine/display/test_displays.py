"""Results show themselves: ten lines, HTML, Markdown, plain data and frames, with one set of numbers."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from engine.analysis.analyze import analyze
from engine.analysis.results.report import Report
from engine.analysis.segments.analyze import analyze_segments
from engine.calibration.error_rates import calibrate
from engine.calibration.methods import METHODS
from engine.calibration.trials import Setting
from engine.design.planning.calculator import SampleQuestion, answer
from engine.display.displays import DISPLAYS
from engine.shown_result import ShownResult
from tests.builders import NOW, a_goal, an_experiment
from tests.engine.charts.test_segments import TREE
from tests.observations import observed
from tests.segment_counts import segmented

HOSTILE = '<script>alert("x")</script> & | `rm` [a](javascript:b)'


def a_report(name: str = "Checkout button") -> Report:
    experiment = an_experiment(status="completed", name=name)
    return analyze(experiment, observed([5_000, 5_000], [500, 700]), now=NOW)


@pytest.fixture(scope="module")
def results() -> list[ShownResult]:
    """One result of each type."""
    (rates,) = calibrate([Setting(rate=0.2, visitors=280)], METHODS[:1], runs=100, seed=1)
    segments = analyze_segments(an_experiment(), segmented(TREE))
    return [a_report(), segments, answer(SampleQuestion(baseline_rate=4.0, effect=10.0)), rates[0]]


def test_every_type_has_every_form(results: list[ShownResult]) -> None:
    assert {type(one) for one in results} == set(DISPLAYS)
    for one in results:
        assert len(repr(one).splitlines()) <= 10
        assert len(repr(one)) < 1_200
        assert one._repr_html_().count("<table") >= 1
        assert one.to_markdown().count("|---|") >= 1
        assert json.loads(json.dumps(one.to_dict(), allow_nan=False)) == one.to_dict()
        assert one.to_polars().height >= 1
        assert one.to_pandas().shape == one.to_polars().shape


def test_a_report_shows_its_verdict_numbers_and_forest_plot() -> None:
    html = a_report()._repr_html_()
    for shown in ("Checkout button", "10%", "14%", "+40%", "5,000", "Better", "<svg", "Health checks"):
        assert shown in html
    assert repr(a_report()).startswith("Checkout button: ")


def test_frames_have_the_numbers_of_the_report() -> None:
    report = a_report()
    _, treated = report.goals[0].variants
    row = report.to_polars().row(1, named=True)
    assert treated.improvement_interval is not None
    assert (row["visitors"], row["conversions"], row["improvement"]) == (5_000, 700, treated.improvement)
    assert (row["low"], row["high"]) == (treated.improvement_interval.low, treated.improvement_interval.high)
    assert report.to_dict()["goals"][0]["variants"][1]["improvement"] == treated.improvement


def test_texts_of_customers_stay_texts() -> None:
    report = a_report(name=HOSTILE)
    html, markdown = report._repr_html_(), report.to_markdown()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert not re.search(r"(?<!\\)<script|(?<!\\)`rm|(?<!\\)\[a", markdown)


def test_html_has_no_script_and_no_inline_style() -> None:
    html = a_report()._repr_html_()
    assert not re.search(r"<script|\sstyle=|\son\w+=|@import|url\(", html)


def test_an_experiment_without_data_or_goals_shows_what_there_is() -> None:
    empty = analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW)
    assert "<svg" not in empty._repr_html_()
    assert empty.to_polars()["visitors"].to_list() == [0, 0]
    draft = replace(empty, goals=())
    assert repr(draft) == "Checkout button: no goal yet"
    assert "tl-report" in draft._repr_html_()
    assert draft.to_polars().is_empty()


def test_fifty_goals_are_listed_the_primary_one_first() -> None:
    goals = tuple(a_goal(id=f"g{i}", name=f"Goal {i}", is_primary=i == 7) for i in range(50))
    experiment = an_experiment(goals=goals, status="completed")
    report = analyze(experiment, observed([5_000, 5_000], [[500, 510]] * 50), now=NOW)
    captions = re.findall(r"<caption>(.*?)</caption>", report._repr_html_())
    assert len(captions) == 50
    assert captions[:2] == ["Goal 7 (primary goal)", "Goal 0"]
    lines = repr(report).splitlines()
    assert len(lines) == 10
    assert lines[3].startswith("Goal 7: ")
    assert lines[8] == "… and 45 more goals"


def test_results_are_imported_without_what_draws_them() -> None:
    program = (
        "import sys, engine.analysis.results.report, engine.analysis.results.segment_report;"
        "sys.exit('altair' in sys.modules or 'engine.display.displays' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
