"""Words of the status of a variant or of a segment, for pages, charts, reports and the terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from engine.analysis.results.report import DOUBTFUL, DecisionSummary, Reason, Recommendation, Tone
from engine.analysis.results.segment_report import SegmentStatus
from engine.analysis.results.variant_result import VariantStatus

# What only a row of a goal says: within what is too small to matter, or a guardrail beside its limit.
RowStatus = Literal["same", "safe", "harmed"]

# Recommendations before which no variant has won or lost.
_UNDECIDED: Final[frozenset[Recommendation]] = frozenset({"keep_running", "insufficient_data", "fix_data"})


@dataclass(frozen=True, slots=True)
class StatusWord:
    """What a status is called, how it is toned, and the mark that a chart draws it with."""

    label: str
    tone: Tone
    shape: str


_BETTER: Final = StatusWord("Better", "positive", "triangle-up")
_WORSE: Final = StatusWord("Worse", "negative", "triangle-down")
# In the order of legends.
STATUS_WORDS: Final[Mapping[VariantStatus | SegmentStatus | RowStatus, StatusWord]] = MappingProxyType(
    {
        "control": StatusWord("Control", "neutral", "circle"),
        "winner": _BETTER,
        "better": _BETTER,
        "loser": _WORSE,
        "worse": _WORSE,
        "differs": StatusWord("Differs from the rest", "warning", "square"),
        "inconclusive": StatusWord("Unclear", "neutral", "circle"),
        "insufficient_data": StatusWord("Too early", "neutral", "diamond"),
        "same": StatusWord("Same", "neutral", "equal"),
        "safe": StatusWord("Safe", "positive", "equal"),
        "harmed": StatusWord("Harmed", "negative", "triangle-down"),
    }
)


def shown_status(status: VariantStatus, decision: DecisionSummary) -> VariantStatus:
    """Return the status to show: a win or a loss only where the verdict rests on it."""
    return status_beside(status, decision.recommendation, decision.reason)


def status_beside(
    status: VariantStatus, recommendation: Recommendation, reason: Reason | None
) -> VariantStatus:
    """Return the status to show beside a verdict: none is decided of some of the visitors."""
    is_decided = rests_on_numbers(recommendation, reason)
    return "inconclusive" if status in {"winner", "loser"} and not is_decided else status


def rests_on_numbers(recommendation: Recommendation, reason: Reason | None) -> bool:
    """Tell whether a verdict rests on the numbers beside it, so that they may be called more than unclear."""
    return recommendation not in _UNDECIDED and reason != "exploratory" and reason not in DOUBTFUL
