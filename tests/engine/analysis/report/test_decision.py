"""Recommendation, tone and sentences of an experiment."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.results.report import DecisionSummary
from engine.stats.moments import Moments
from tests.builders import STARTED, a_goal, an_experiment
from tests.observations import observed

METHODS = pytest.mark.parametrize("method", ["frequentist", "bayesian"])
# Terms that a product manager should not need; those on every dashboard of tests are fine.
JARGON = re.compile(r"null hypothesis|posterior|\bSRM\b|chi.square|variance|log.odds|\bnan\b|None")
MINUS = "\N{MINUS SIGN}"


def decided(
    visitors: list[int], conversions: list[int], *, aside: int = 0, days: int = 14, **experiment: Any
) -> DecisionSummary:
    fields = {"weights": (1,) * len(visitors), "status": "running", **experiment}
    if fields["status"] == "completed":
        fields["completed_at"] = STARTED + timedelta(days=days)
    evidence = observed(visitors, conversions, days=days, several_variants=aside)
    report = analyze(an_experiment(**fields), evidence, now=STARTED + timedelta(days=days))
    assert report.primary is not None
    return report.primary.decision


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What is observed, and what should come of it."""

    visitors: list[int]
    conversions: list[int]
    recommendation: str
    tone: str
    headline: str
    more: dict[str, Any] = field(default_factory=dict)

    def decision(self, method: str) -> DecisionSummary:
        return decided(self.visitors, self.conversions, analysis_method=method, **self.more)


CASES = {
    "a winner": Expected(
        visitors=[10_000, 10_000],
        conversions=[1000, 1250],
        recommendation="ship",
        tone="positive",
        headline="'Treatment 1' wins on Purchase (+25%)",
    ),
    "a loser": Expected(
        visitors=[10_000, 10_000],
        conversions=[1000, 800],
        recommendation="rollback",
        tone="negative",
        headline=f"'Treatment 1' loses on Purchase ({MINUS}20%)",
    ),
    "only losers": Expected(
        visitors=[10_000] * 3,
        conversions=[1000, 800, 780],
        recommendation="rollback",
        tone="negative",
        headline=f"No variant is as good as 'Control' on Purchase ({MINUS}20%)",
    ),
    "a loser and an open question": Expected(
        visitors=[5000] * 3,
        conversions=[500, 400, 490],
        recommendation="keep_running",
        tone="neutral",
        headline=f"'Treatment 1' ({MINUS}20%) loses on Purchase; no clear result on 'Treatment 2' yet",
    ),
    "too early to say": Expected(
        visitors=[1000, 1000],
        conversions=[100, 110],
        recommendation="keep_running",
        tone="neutral",
        headline="No clear result on Purchase yet",
    ),
    "ended undecided": Expected(
        visitors=[1000, 1000],
        conversions=[100, 110],
        more={"status": "completed"},
        recommendation="review",
        tone="warning",
        headline="The experiment ended at 6% of its plan: no clear result on Purchase",
    ),
    "many and no difference": Expected(
        visitors=[28_806, 28_798],
        conversions=[3516, 3421],
        recommendation="review",
        tone="neutral",
        headline="No relevant difference on Purchase between 'Treatment 1' and 'Control'",
    ),
    "nobody yet": Expected(
        visitors=[0, 0],
        conversions=[0, 0],
        more={"days": 0},
        recommendation="insufficient_data",
        tone="neutral",
        headline="Not enough data on Purchase",
    ),
    "three conversions": Expected(
        visitors=[900, 900],
        conversions=[1, 2],
        recommendation="insufficient_data",
        tone="neutral",
        headline="Not enough data on Purchase",
    ),
    "a broken split": Expected(
        visitors=[10_000, 9000],
        conversions=[1000, 1100],
        recommendation="fix_data",
        tone="warning",
        headline="Data problem: do not decide on Purchase yet",
    ),
    "many in several variants": Expected(
        visitors=[10_000, 10_000],
        conversions=[1000, 1250],
        more={"aside": 500},
        recommendation="fix_data",
        tone="warning",
        headline="Data problem: do not decide on Purchase yet",
    ),
}


@METHODS
@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_recommendation_tone_and_headline(case: str, method: str) -> None:
    expected, decision = CASES[case], CASES[case].decision(method)
    assert (decision.recommendation, decision.tone) == (expected.recommendation, expected.tone)
    assert decision.headline == expected.headline


@METHODS
@pytest.mark.parametrize("case", CASES)
def test_sentences_are_whole_and_free_of_jargon(case: str, method: str) -> None:
    decision = CASES[case].decision(method)
    for sentence in (decision.explanation, decision.next_step, decision.confidence_assessment):
        assert sentence[0].isupper() or sentence[0] in "'0123456789"
        assert sentence.endswith(".")
        assert ".." not in sentence
        assert not JARGON.search(sentence)


def test_no_difference_gives_the_bounds_that_make_it_one() -> None:
    decision = decided([28_806, 28_798], [3516, 3421])
    assert decision.explanation == (
        "11.9% of 28,798 visitors converted with 'Treatment 1', and 12.2% of 28,806 with 'Control': a change"
        f" of {MINUS}2.7% (95% confidence interval {MINUS}6.9% to +1.7%). A rise beyond 1% and a fall beyond"
        " 6.3% are each ruled out (95%). Judged by the one look at the plan: 57,604 visitors are in."
    )
    assert decision.recommendation_label == "No difference"


def test_a_single_look_is_explained_by_the_share_of_tests_that_would_show_it() -> None:
    assert decided([28_806, 28_798], [3516, 3421]).confidence_assessment == (
        "22.9% of tests without a true difference would show one at least this large at a single look"
        " (p-value). That is above the significance level of 5%, so the difference may be due to chance."
    )


def test_an_open_experiment_says_how_far_its_plan_is() -> None:
    assert decided([1000, 1000], [100, 100]).explanation.endswith(
        "The plan is at 6%: 2,000 of 31,168 visitors (estimated from all visitors so far); running day"
        " 56 comes first, by which a change of 20.7% is found with 80% power."
    )


def test_bayesian_confidence_is_a_chance() -> None:
    decision = decided([10_000] * 3, [1000, 1030, 990], analysis_method="bayesian")
    assert decision.confidence_assessment == (
        "75.9% chance that 'Treatment 1' is better than 'Control', by this look's data. It counts as better"
        " from 97.5%, and as worse up to 2.5%; the action waits for what holds at every look, or for the"
        " plan."
    )


def test_a_winner_waits_for_the_first_week() -> None:
    early, later = (decided([10_000] * 2, [1000, 1250], days=days) for days in (3, 7))
    assert early.headline == "'Treatment 1' is ahead on Purchase (+25%), not yet safe to stop"
    assert "No winner is called before running day 7" in early.explanation
    assert later.next_step.startswith("Complete the experiment")


def test_a_completed_experiment_is_not_told_to_complete() -> None:
    decision = decided([10_000] * 2, [1000, 1250], status="completed")
    assert decision.next_step == "Roll 'Treatment 1' out to everyone."


def test_nothing_is_called_sure_while_the_data_is_not_trusted() -> None:
    assert decided([10_000, 9000], [1000, 1400]).confidence_assessment == (
        "These results are not reliable until the data problem is fixed."
    )


def test_missing_data_is_explained_by_its_reason() -> None:
    assert (
        decided([0, 0], [0, 0], days=0).explanation
        == "No reliable comparison yet: 'Control' has no visitors yet."
    )


def test_a_draft_is_told_to_start() -> None:
    assert decided([0, 0], [0, 0], days=0, status="draft").next_step == "Start the experiment."


@pytest.mark.parametrize(
    ("config", "usual"), [({}, "EUR"), ({"currency": "EUR"}, "USD")], ids=["the project's", "its own"]
)
def test_revenue_speaks_of_money(config: dict[str, str], usual: str) -> None:
    n, cents = 5000, np.array([[1000.0, 1500.0]])
    moments = Moments(np.full((1, 2), float(n)), cents, n * (4 * cents) ** 2)
    goal = a_goal(goal_type="revenue", name="Spend", config=config)
    evidence = observed([n, n], [600, 640], cents=moments, days=14)
    now = STARTED + timedelta(days=14)
    report = analyze(an_experiment(goals=(goal,), status="running"), evidence, now=now, currency=usual)
    decision = report.goals[0].decision
    assert decision.explanation.startswith(
        "'Treatment 1' brought 15.00 EUR per visitor, and 'Control' 10.00 EUR: a change of +50%"
    )
    # 5 EUR on each of 10,000 visitors in 14 days, for 365 days; and on the 5,000 who saw it.
    assert decision.projected_annual_revenue_impact_cents == round(500 * 10_000 / 14 * 365)
    # Less than that, as one of several looks selected it.
    yearly = re.search(r"about ([0-9,]+) EUR more a year \(95% interval", decision.explanation)
    assert yearly is not None
    assert 600_000 < int(yearly[1].replace(",", "")) < 1_303_571
    assert decision.incremental_revenue_impact_cents == 500 * n
    assert decision.revenue_currency == "EUR"
