"""Invariants of the sentences, over random situations."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.results.report import DecisionSummary, Report
from engine.design.analysis_settings import Statistics
from tests.builders import a_goal
from tests.engine.analysis.report.situation import Situation
from tests.engine.analysis.report.situations import GUARDRAIL, NON_INFERIOR, SIGNUPS
from tests.examples import examples

JARGON = re.compile(
    r"null hypothesis|posterior|\bSRM\b|chi.square|variance|log.odds|\bnan\b|\binf\b|None|z.score|equivalen",
    re.IGNORECASE,
)

# Words that the next step of each recommendation must have, and those that it must not.
NEXT_STEPS = {
    "ship": (r"[Rr]oll '", r"[Kk]eep '"),
    "rollback": (r"[Kk]eep 'A' for everyone", r"[Rr]oll '"),
    "keep_running": (r"running", r"[Cc]omplete|[Rr]oll '"),
    "review": (r".", r"[Rr]oll '|running for"),
    "insufficient_data": (r".", r"[Rr]oll '"),
    "fix_data": (r"fix the cause", r"[Rr]oll '|[Kk]eep '"),
}


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    visitors = draw(st.sampled_from([150, 1_000, 6_000, 16_000, 60_000]))
    arms = draw(st.integers(2, 4))
    goals = draw(st.sampled_from([(a_goal(),), (a_goal(), GUARDRAIL), (a_goal(), SIGNUPS)]))
    base = draw(st.sampled_from([0.005, 0.05, 0.3]))
    hits = [
        [round(visitors * base * draw(st.floats(0.7, 1.4))) for _ in range(arms)] for _ in range(len(goals))
    ]
    plan = None
    if draw(st.booleans()):
        recorded = [[round(0.9 * hit * draw(st.floats(0.9, 1.1))) for hit in row] for row in hits]
        plan = Situation(visitors=[round(0.9 * visitors)] * arms, conversions=recorded, goals=goals, day=56)
    settled: dict[str, Any] = {
        "statistics": draw(
            st.sampled_from([Statistics(), Statistics(sequential="always_valid"), NON_INFERIOR])
        )
    }
    method = draw(st.sampled_from(["frequentist", "bayesian"]))
    if method == "bayesian":
        settled = {"settings": {"analysis_method": method}}
    return Situation(
        visitors=[visitors] * arms,
        conversions=hits,
        goals=goals,
        day=60 if plan else draw(st.sampled_from([2, 8, 30])),
        status=draw(st.sampled_from(["running", "paused", "completed"])),
        plan=plan,
        **(settled if plan is None or method == "frequentist" else {}),
    )


@given(situations())
@examples(12, 150, seconds=8)
def test_sentences_of_random_situations_hold_together(situation: Situation) -> None:
    report = situation.report()
    assert report.primary is not None
    for goal in report.goals:
        _check_sentences(goal.decision)
        _check_next_step(goal.decision)
        assert goal.decision.next_step == report.primary.decision.next_step
        assert goal.decision.recommendation_label == report.primary.decision.recommendation_label
    _check_signs(report)


def _check_sentences(decision: DecisionSummary) -> None:
    assert decision.headline.strip() == decision.headline
    for sentence in (decision.explanation, decision.next_step, decision.confidence_assessment):
        assert sentence.endswith(".")
        assert sentence[0].isupper() or sentence[0] in "'0123456789"
        assert not re.search(r"\.\.|  |, \.| ,|\bof 0 visitors", sentence), sentence
    for text in (decision.headline, decision.explanation, decision.next_step, decision.confidence_assessment):
        assert not JARGON.search(text), text


def _check_next_step(decision: DecisionSummary) -> None:
    wanted, unwanted = NEXT_STEPS[decision.recommendation]
    assert re.search(wanted, decision.next_step)
    assert not re.search(unwanted, decision.next_step)


def _check_signs(report: Report) -> None:
    """Compare each headline with the sign of the lift that it names."""
    for goal in report.goals:
        headline = goal.decision.headline
        is_less_better = goal.goal.config.get("direction") == "decrease"
        gain = r"\+" if not is_less_better else "\N{MINUS SIGN}"
        loss = "\N{MINUS SIGN}" if not is_less_better else r"\+"
        for words, sign in ((r"wins|ahead|is better", loss), (r"loses|behind|is worse", gain)):
            assert not re.search(rf"\({sign}[\d.]+%\)[^()]*(?:{words})", headline.split(" and ")[0])
        assert not re.search(r"wins on \w+ \(\+?0%\)", headline)
        if re.search(r"' wins on|is ahead on", headline):
            assert re.search(rf"\({gain}", headline) or goal.decision.estimated_uplift is None
