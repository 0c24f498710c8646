"""Reports in a terminal: the decision, the numbers of each variant, and health alarms."""

from dataclasses import replace

import numpy as np
from rich.console import Console, RenderableType

from api.cli.report_table import render_report, render_verdicts
from engine.analysis.analyze import analyze
from engine.analysis.results.report import Report
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed


def text_of(renderable: RenderableType) -> str:
    """What is printed, without frames and line breaks."""
    console = Console(width=160, record=True)
    with console.capture() as printed:
        console.print(renderable)
    return " ".join(printed.get().replace("│", " ").split())


def a_report(visitors: tuple[int, int] = (10_000, 10_000)) -> Report:
    revenue = a_goal(id="g2", name="Revenue", goal_type="revenue", is_primary=False, config={})
    experiment = an_experiment(weights=(1, 1), goals=(a_goal(id="g1", is_primary=True), revenue))
    counts = np.broadcast_to(np.array(visitors, float), (2, 2))
    cents = Moments(counts, np.array([[0, 0], [100.0, 150.0]]), np.array([[0, 0], [1e9, 1e9]]))
    conversions = [[1_000, 1_400], [400, 600]]
    return analyze(experiment, observed(visitors, conversions, cents=cents, days=7), now=NOW)


def test_the_decision_comes_before_the_numbers() -> None:
    report = a_report()
    assert report.primary is not None
    printed = text_of(render_report(report, title="Checkout"))
    decision = report.primary.decision
    assert printed.startswith(f"╭─ Checkout: {decision.recommendation_label}")
    assert printed.index(decision.next_step) < printed.index("variant visitors conv.")


def test_plan_says_how_far_it_is() -> None:
    plan = a_report().plan
    at_half = replace(plan, is_reached=False, required_visitors=40_000, progress=0.5, days_left=7)
    reached = replace(plan, source="blinded", is_reached=True)
    for shown, line in (
        (at_half, "Plan: 20,000 of 40,000 visitors (50.00%); days left: 7"),
        (replace(at_half, required_visitors=None), "Plan: 20,000 visitors, required number not known yet"),
        (
            replace(reached, detectable_effect=0.052),
            "Plan: reached, 20,000 visitors; detects a change of 5",
        ),
        (replace(plan, source="finished"), "Plan: finished test, judged by one look at 20,000 visitors"),
    ):
        assert line in text_of(render_report(replace(a_report(), plan=shown)))


def test_every_variant_has_a_row_with_its_numbers() -> None:
    printed = text_of(render_report(a_report()))
    assert "10,000 1,000 10.00%" in printed
    assert "10,000 1,400 14.00% +40.00%" in printed
    # Revenue per visitor, in units of the currency.
    assert "6.00% 1.5000 USD +50.00%" in printed


def test_an_alarm_of_a_health_check_is_shown() -> None:
    assert "sample_ratio:" not in text_of(render_report(a_report()))
    assert "sample_ratio:" in text_of(render_report(a_report((10_000, 12_000))))


def test_verdicts_have_a_row_for_each_experiment() -> None:
    report = a_report()
    assert report.primary is not None
    printed = text_of(render_verdicts([report, report]))
    assert printed.count(report.primary.decision.recommendation_label) == 2
    assert printed.count("20,000") == 2
