"""What a decision takes into account besides the numbers of its goal: a table of cases."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from engine.analysis.analyze import analyze
from engine.analysis.results.report import DecisionSummary
from engine.design.analysis_settings import Statistics
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

N = 10_000
BUY = a_goal()
REFUND = a_goal(
    id="goal_2",
    name="Refund",
    is_primary=False,
    config={"event_name": "refund", "direction": "decrease", "guardrail_margin_percent": 5},
)
PLANNED = Statistics(planned_sample=50_000)


def others(count: int) -> tuple[Any, ...]:
    return tuple(a_goal(id=f"goal_{i}", name=f"Goal {i}", is_primary=False) for i in range(2, 2 + count))


@dataclass(frozen=True, kw_only=True)
class Case:
    """Conversions of control and variant on each goal, the goal asked about, and what is decided."""

    conversions: list[list[int]]
    recommendation: str
    headline: str
    goal: int = 0
    fields: dict[str, Any] = field(default_factory=dict)

    def decision(self) -> DecisionSummary:
        fields = {"status": "running", "goals": (BUY,), **self.fields}
        evidence = observed([N, N], self.conversions, days=14)
        return analyze(an_experiment(**fields), evidence, now=NOW).goals[self.goal].decision


CASES = {
    "a winner that harms a guardrail": Case(
        conversions=[[1000, 1250], [500, 700]],
        fields={"goals": (BUY, REFUND)},
        recommendation="review",
        headline="'Treatment 1' wins on Purchase (+25%) but harms Refund",
    ),
    "a winner whose guardrail is worse within its margin": Case(
        conversions=[[1000, 1250], [500, 515]],
        fields={"goals": (BUY, REFUND)},
        recommendation="ship",
        headline="'Treatment 1' wins on Purchase (+25%)",
    ),
    "a winner whose guardrail got better": Case(
        conversions=[[1000, 1250], [700, 500]],
        fields={"goals": (BUY, REFUND)},
        recommendation="ship",
        headline="'Treatment 1' wins on Purchase (+25%)",
    ),
    "no winner, and a harmed guardrail": Case(
        conversions=[[1000, 1010], [500, 700]],
        fields={"goals": (BUY, REFUND)},
        recommendation="rollback",
        headline="'Treatment 1' harms Refund and does not win on Purchase",
    ),
    "ahead before the planned sample": Case(
        conversions=[[1000, 1100]],
        fields={"statistics": PLANNED},
        recommendation="keep_running",
        headline="'Treatment 1' is ahead on Purchase (+10%), too early to call",
    ),
    "so far ahead that no later look takes it back": Case(
        conversions=[[1000, 1250]],
        fields={"statistics": PLANNED},
        recommendation="ship",
        headline="'Treatment 1' wins on Purchase (+25%)",
    ),
    "ahead at the planned sample": Case(
        conversions=[[1000, 1100]],
        fields={"statistics": Statistics(planned_sample=2 * N)},
        recommendation="ship",
        headline="'Treatment 1' wins on Purchase (+10%)",
    ),
    "ended before the planned sample": Case(
        conversions=[[1000, 1100]],
        fields={"statistics": PLANNED, "status": "completed"},
        recommendation="ship",
        headline="'Treatment 1' wins on Purchase (+10%)",
    ),
    "a posterior before the planned sample": Case(
        conversions=[[1000, 1100]],
        fields={"statistics": PLANNED, "analysis_method": "bayesian"},
        recommendation="ship",
        headline="'Treatment 1' wins on Purchase (+10%)",
    ),
    "one of ten secondary goals, by a hair": Case(
        conversions=[[1000, 1010], [1000, 1089], *[[1000, 1000]] * 9],
        fields={"goals": (BUY, *others(10))},
        goal=1,
        recommendation="keep_running",
        headline="The change on Goal 2 (+8.9%) may be due to chance",
    ),
    "one of ten secondary goals, by far": Case(
        conversions=[[1000, 1010], [1000, 1250], *[[1000, 1000]] * 9],
        fields={"goals": (BUY, *others(10))},
        goal=1,
        recommendation="ship",
        headline="'Treatment 1' wins on Goal 2 (+25%)",
    ),
    "a primary goal beside ten others, by a hair": Case(
        conversions=[[1000, 1089], *[[1000, 1000]] * 10],
        fields={"goals": (BUY, *others(10))},
        recommendation="ship",
        headline="'Treatment 1' wins on Purchase (+8.9%)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_recommendation_and_headline(case: str) -> None:
    decision = CASES[case].decision()
    assert (decision.recommendation, decision.headline) == (CASES[case].recommendation, CASES[case].headline)


@pytest.mark.parametrize("case", CASES)
def test_sentences_are_whole(case: str) -> None:
    decision = CASES[case].decision()
    for sentence in (decision.explanation, decision.next_step):
        assert sentence[0].isupper() or sentence[0] in "'0123456789"
        assert sentence.endswith(".")
        assert ".." not in sentence


def test_secondary_goals_are_called_so() -> None:
    case = CASES["one of ten secondary goals, by far"]
    assert case.decision().explanation.endswith("the decision rests on the primary goal.")


def test_too_early_says_how_long_it_takes() -> None:
    # 20,000 of 50,000 visitors in 14 days: 21 more.
    assert CASES["ahead before the planned sample"].decision().next_step == (
        "Keep the experiment running until it has 50,000 visitors, in about 21 days at the current pace."
    )


def test_open_question_says_how_many_days_are_left() -> None:
    case = Case(conversions=[[500, 510]], recommendation="keep_running", headline="")
    # 31,234 visitors an arm find 5% against 5.5% with 80% power, by Fleiss, Levin and Paik (2003), as R's
    # power.prop.test has it: 62,468 in all, and 20,000 came in 14 days.
    assert case.decision().next_step == (
        "Keep the experiment running for about 30 more days to reach the required sample size."
    )
