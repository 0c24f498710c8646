"""Report of a share link: without texts of visitors, code and, unless it is chosen, money."""

import re
from dataclasses import replace
from typing import Final

from engine.analysis.results.report import DOUBTFUL, DecisionSummary, GoalReport, HealthCheck, Report
from engine.analysis.results.variant_result import VariantResult
from engine.analysis.results.verdict_words import CHECK_WORDS
from engine.currencies import CURRENCIES

FIX_FIRST: Final = "Fix the data before anything is decided."
_AMOUNT: Final = re.compile(rf"\d\s?(?:{'|'.join(sorted(CURRENCIES))})\b")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")


def shared_report(report: Report, *, shows_money: bool) -> Report:
    """Leave out what a link does not show.

    That are messages of checks, which may quote senders and segments, steps of funnels, which may be
    selectors, and amounts of money unless they are chosen.
    """
    goals = tuple(_goal(goal, shows_money=shows_money) for goal in report.goals)
    return replace(report, goals=goals, health=tuple(map(_check, report.health)))


def _check(check: HealthCheck) -> HealthCheck:
    words = CHECK_WORDS.get(check.check)
    sentence = words.sentence if words else ""
    if check.is_open and sentence:
        sentence = f"This does not hold: {sentence[0].lower()}{sentence[1:]}"
    return replace(check, message=sentence, details={})


def _goal(goal: GoalReport, *, shows_money: bool) -> GoalReport:
    decision = _decision(goal.decision)
    variants = tuple(replace(one, details=replace(one.details, steps=None)) for one in goal.variants)
    if not shows_money:
        decision, variants = _without_money(decision), tuple(map(_without_amounts, variants))
    return replace(goal, decision=decision, variants=variants, breaks={})


def _decision(decision: DecisionSummary) -> DecisionSummary:
    """Leave out explanations that quote checks, or tell of single visitors."""
    if decision.recommendation == "fix_data":
        return replace(decision, explanation="", next_step=FIX_FIRST)
    return replace(decision, explanation="") if decision.reason in DOUBTFUL else decision


def _without_money(decision: DecisionSummary) -> DecisionSummary:
    return replace(
        decision,
        headline=_without_amount_sentences(decision.headline) or decision.recommendation_label,
        explanation=_without_amount_sentences(decision.explanation),
        next_step=_without_amount_sentences(decision.next_step),
        confidence_assessment=_without_amount_sentences(decision.confidence_assessment),
        yearly_impact=None,
    )


def _without_amounts(variant: VariantResult) -> VariantResult:
    reason = None if variant.reason is None else _without_amount_sentences(variant.reason)
    if variant.metric.unit != "cents":
        return replace(variant, reason=reason)
    comparison = variant.comparison and replace(
        variant.comparison, absolute_difference=None, absolute_difference_interval=None
    )
    return replace(
        variant,
        reason=reason,
        metric=replace(variant.metric, value=None, interval=None),
        comparison=comparison,
    )


def _without_amount_sentences(text: str) -> str:
    return " ".join(one for one in _SENTENCE_END.split(text) if not _AMOUNT.search(one))
