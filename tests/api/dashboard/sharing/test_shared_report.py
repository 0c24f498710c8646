"""Reports of share links: without texts of visitors and senders, code and, unless chosen, amounts."""

from dataclasses import replace
from typing import Any

import pytest

from api.dashboard.sharing.shared_report import FIX_FIRST, shared_report
from engine.analysis.analyze import analyze
from engine.analysis.results.report import HealthCheck, Report
from engine.analysis.results.variant_result import FunnelStep, Metric
from engine.analysis.results.verdict_words import CHECK_WORDS
from tests.builders import NOW, an_experiment
from tests.observations import observed


def a_report(**decision: Any) -> Report:
    """Return a report whose primary decision is changed."""
    report = analyze(an_experiment(status="running"), observed([5000, 5000], [500, 560], days=20), now=NOW)
    (goal,) = report.goals
    return replace(report, goals=(replace(goal, decision=replace(goal.decision, **decision)),))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("A wins. At 4.10 USD a visitor with 'B', and 3.90 USD with 'A'. It holds.", "A wins. It holds."),
        ("This is about 41,200 JPY more a year (95% interval 1 JPY to 9 JPY; shrunk).", ""),
        ("10 users in 5 steps, +4.2% at day 7.", "10 users in 5 steps, +4.2% at day 7."),
        ("\N{MINUS SIGN}3.25 EUR", ""),
    ],
)
def test_sentences_with_amounts_are_left_out_unless_money_is_chosen(text: str, left: str) -> None:
    said = dict.fromkeys(("headline", "explanation", "next_step", "confidence_assessment"), text)
    report = a_report(**said)
    (goal,) = shared_report(report, shows_money=True).goals
    assert {getattr(goal.decision, name) for name in said} == {text}
    (goal,) = shared_report(report, shows_money=False).goals
    assert goal.decision.headline == (left or goal.decision.recommendation_label)
    assert {getattr(goal.decision, name) for name in list(said)[1:]} == {left}


def test_metrics_in_money_lose_their_amounts_and_keep_their_percents() -> None:
    report = a_report()
    (goal,) = report.goals
    revenue = Metric(name="revenue_per_visitor", value=412.0, unit="cents", currency="USD", n=5000)
    paid = replace(
        report, goals=(replace(goal, variants=tuple(replace(one, metric=revenue) for one in goal.variants)),)
    )
    for shows_money, value in ((True, 412.0), (False, None)):
        treatment = shared_report(paid, shows_money=shows_money).goals[0].variants[1]
        assert treatment.metric.value == value
        assert (treatment.compared.absolute_difference is None) is not shows_money
        assert treatment.improvement == goal.variants[1].improvement is not None


def test_checks_are_told_by_their_words_alone() -> None:
    report = a_report()
    quoted = tuple(
        HealthCheck(
            check=name, status="warning", message="of sender 'mallory'", details={"sender": "mallory"}
        )
        for name in (*CHECK_WORDS, "one_of_tomorrow")
    )
    shown = shared_report(replace(report, health=quoted), shows_money=True).health
    assert len(shown) == len(quoted) > 20
    assert "mallory" not in repr(shown)
    assert all(one.message.startswith("This does not hold: ") for one in shown[:-1])
    assert shown[-1].message == ""


@pytest.mark.parametrize(
    ("decision", "next_step"),
    [
        ({"recommendation": "fix_data", "next_step": "Import private.csv."}, FIX_FIRST),
        ({"recommendation": "review", "reason": "one_visitor", "next_step": "Look."}, "Look."),
    ],
)
def test_explanations_that_quote_checks_or_tell_of_one_visitor_are_left_out(
    decision: dict[str, Any], next_step: str
) -> None:
    report = a_report(explanation="One visitor of 'B' has 41% of its revenue.", **decision)
    shown = shared_report(report, shows_money=True).goals[0].decision
    assert (shown.explanation, shown.next_step) == ("", next_step)


def test_steps_of_funnels_are_left_out() -> None:
    report = a_report()
    (goal,) = report.goals
    steps = (FunnelStep(name="#private-selector", visitors=3),)
    variants = tuple(replace(one, details=replace(one.details, steps=steps)) for one in goal.variants)
    with_steps = replace(report, goals=(replace(goal, variants=variants),))
    assert "#private-selector" in str(with_steps.goals[0].variants)
    assert "#private-selector" not in str(shared_report(with_steps, shows_money=True).goals[0].variants)
