"""Words of recommendations, reasons, verdicts, statuses and health checks: label, tone, sentence, section."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from engine.analysis.results.report import Reason, Recommendation, Tone
from engine.vocabulary import ConclusionDecision, Status

# The page with a section for every recommendation, reason and check, named as its code.
PAGE: Final = "docs/verdicts.md"


@dataclass(frozen=True, slots=True)
class OutcomeWords:
    """What a recommendation with its reason is called, how it is toned, and what it says."""

    label: str
    tone: Tone
    sentence: str


# A recommendation, told apart from a review that has found no difference.
Verdict = Literal[
    "ship", "rollback", "review", "no_difference", "fix_data", "keep_running", "insufficient_data"
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class ShortWord:
    """A word for lists, with its tone and the shape that stands beside it."""

    label: str
    tone: Tone | Literal["active"]
    shape: str


@dataclass(frozen=True, slots=True)
class CheckWords:
    """What a health check is called, what it tests, and what to do where its message does not say it."""

    label: str
    sentence: str
    fix: str = ""


OUTCOMES: Final[Mapping[tuple[Recommendation, Reason | None], OutcomeWords]] = MappingProxyType(
    {
        ("ship", None): OutcomeWords(
            "Ship it", "positive", "A variant wins, and is not shown to harm another goal."
        ),
        ("rollback", None): OutcomeWords(
            "Roll back", "negative", "Every variant loses, or breaks a guardrail."
        ),
        ("keep_running", None): OutcomeWords(
            "Keep running", "neutral", "The plan is not reached, and nothing is established yet."
        ),
        ("keep_running", "guardrail_unknown"): OutcomeWords(
            "Keep running", "neutral", "A variant wins, and the outcomes of a guardrail are still to come."
        ),
        ("insufficient_data", None): OutcomeWords(
            "Not enough data", "neutral", "No variant can be compared with the control yet."
        ),
        ("fix_data", None): OutcomeWords(
            "Fix the data", "warning", "A health check gives the alarm, so the data are not to be relied on."
        ),
        ("review", "no_difference"): OutcomeWords(
            "No difference", "neutral", "No variant differs from the control by as much as matters."
        ),
        ("review", "undecided"): OutcomeWords(
            "Review", "warning", "The plan is reached without a clear result."
        ),
        ("review", "guardrail_broken"): OutcomeWords(
            "Review", "warning", "A variant wins, and breaks a guardrail."
        ),
        ("review", "guardrail_unknown"): OutcomeWords(
            "Review",
            "warning",
            "A variant wins at the plan, and the outcomes of a guardrail are still to come.",
        ),
        ("review", "guardrail_unjudged"): OutcomeWords(
            "Review", "warning", "A variant wins, and a guardrail cannot be judged."
        ),
        ("review", "guardrail_inconclusive"): OutcomeWords(
            "Review", "warning", "A variant wins, and a guardrail is not shown to be within its margin."
        ),
        ("review", "goal_harmed"): OutcomeWords(
            "Review", "warning", "A variant wins, and is worse on another goal."
        ),
        ("review", "measured_differs"): OutcomeWords(
            "Review", "warning", "A goal is measured of other visitors in a variant than in the control."
        ),
        ("review", "one_visitor"): OutcomeWords("Review", "warning", "One visitor makes a win or a loss."),
        ("review", "ended_early"): OutcomeWords(
            "Review", "warning", "The test ended before its plan, without a clear result."
        ),
        ("review", "exploratory"): OutcomeWords(
            "Review", "neutral", "These are results of a segment, on which no action rests."
        ),
    }
)

VERDICT_WORDS: Final[Mapping[Verdict, ShortWord]] = MappingProxyType(
    {
        "ship": ShortWord("Ship", "positive", "triangle-up"),
        "rollback": ShortWord("Roll back", "negative", "triangle-down"),
        "review": ShortWord("Review", "warning", "attention"),
        "no_difference": ShortWord("No difference", "neutral", "equal"),
        "fix_data": ShortWord("Fix data", "warning", "diamond"),
        "keep_running": ShortWord("Keep running", "active", "ring"),
        "insufficient_data": ShortWord("Too early", "neutral", "dashed-ring"),
    }
)
LIFE_WORDS: Final[Mapping[Status, ShortWord]] = MappingProxyType(
    {
        "draft": ShortWord("Draft", "neutral", "dashed-ring"),
        "scheduled": ShortWord("Scheduled", "neutral", "dashed-ring"),
        "running": ShortWord("Running", "active", "ring"),
        "paused": ShortWord("Paused", "neutral", "pause"),
        "completed": ShortWord("Ended", "neutral", "circle"),
        "archived": ShortWord("Archived", "neutral", "circle"),
    }
)

CHECK_WORDS: Final[Mapping[str, CheckWords]] = MappingProxyType(
    {
        "sample_ratio": CheckWords(
            "Sample ratio",
            "Visitors are split as the weights say.",
            "Find what loads, redirects or counts otherwise in a variant; then start a new test.",
        ),
        "sample_ratio_by_segment": CheckWords(
            "Sample ratio by segment", "Visitors of every segment are split as the weights say."
        ),
        "unweighted_arms": CheckWords(
            "Variants without traffic",
            "No variant with weight zero has visitors.",
            "Find out who sends them: code of your own, or links with a variant in them.",
        ),
        "several_variants": CheckWords("Several variants seen", "Each visitor saw one variant."),
        "several_units": CheckWords("Several units", "Each visitor belongs to one unit, such as an account."),
        "identity_conflicts": CheckWords(
            "Conflicts between devices", "The devices of a user saw the same variant."
        ),
        "group_overlap": CheckWords(
            "Exclusion group", "No visitor is in another test of the exclusion group."
        ),
        "measured_visitors": CheckWords(
            "Visitors measured", "A goal is measured of the same share of every variant's visitors."
        ),
        "alike_before": CheckWords(
            "Alike before",
            "The variants' visitors behaved alike before their first exposure.",
            "Start the test again with new visitors.",
        ),
        "bots": CheckWords("Bots", "Few visitors are known bots, which are excluded."),
        "freshness": CheckWords("Freshness", "New visitors have come within the last day."),
        "late_visits": CheckWords("Late visits", "Few pages are seen before the snippet comes."),
        "goals_fire": CheckWords("Goals fire", "Every goal that had conversions still has them."),
        "underpowered": CheckWords(
            "Power",
            "The test detects the minimum effect of the primary goal with 80% power.",
            "Let it run up to its plan, or plan for a larger effect.",
        ),
        "day_of_week_cover": CheckWords("Days of the week", "Every day of the week has visitors."),
        "novelty": CheckWords("Novelty", "The effect does not wear off with the days since first exposure."),
        "implausible_lift": CheckWords(
            "Implausible lift", "No lift of the primary goal is too large to be likely."
        ),
        "revenue_concentration": CheckWords(
            "Concentration of revenue", "No visitor has an unusual share of a variant's revenue."
        ),
        "one_visitor": CheckWords("One visitor", "No single visitor makes or hides a difference."),
        "other_currencies": CheckWords("Other currencies", "Every order is in a currency that is counted."),
        "refunds_above_orders": CheckWords(
            "Refunds above orders", "Refunds do not exceed the orders of their visitors by much."
        ),
        "bursts": CheckWords("Bursts", "No minute has an unusual number of new visitors."),
        "visitors_by_address": CheckWords(
            "Visitors by address", "No network address has an unusual number of visitors."
        ),
        "custom_dimension_keys": CheckWords("Custom dimensions", "Every custom dimension is kept."),
        "sources_imported": CheckWords(
            "Sources imported",
            "The events of imported visitors are imported, too.",
            "Import these sources, too.",
        ),
        "interacting_tests": CheckWords(
            "Interacting tests",
            "No other test that runs at once changes the effect.",
            "End one of the two and run it again afterwards, or decide on both together.",
        ),
    }
)


def section_of(code: str) -> str:
    """Return the section of the docs about a recommendation, a reason or a check."""
    return f"{PAGE}#{code}"


def end_word(decision: ConclusionDecision, verdict: Verdict | None) -> ShortWord:
    """Return the word of a decision: a change that does harm and is not shipped is rolled back."""
    if decision == "ship":
        return ShortWord("Shipped", "positive", "triangle-up")
    if decision == "inconclusive":
        return ShortWord("Undecided", "neutral", "circle")
    if verdict == "rollback":
        return ShortWord("Rolled back", "negative", "triangle-down")
    return ShortWord("Not shipped", "neutral", "equal")


def verdict_of(recommendation: Recommendation, reason: Reason | None) -> Verdict:
    """Return the verdict of a recommendation with its reason."""
    return "no_difference" if reason == "no_difference" else recommendation


def label_of(recommendation: str, reason: str | None) -> str:
    """Return the label of a recommendation, as recorded looks have it; unknown ones are their own label."""
    found = (words.label for pair, words in OUTCOMES.items() if pair == (recommendation, reason))
    return next(found, recommendation)


def sections() -> dict[str, tuple[str, ...]]:
    """List the sentences of every section by its code: a reason may be named like its check."""
    found: dict[str, tuple[str, ...]] = {}
    for (recommendation, reason), words in OUTCOMES.items():
        code = reason or recommendation
        found[code] = (*found.get(code, ()), words.sentence)
    for check, tested in CHECK_WORDS.items():
        found[check] = (*found.get(check, ()), tested.sentence)
    return found
