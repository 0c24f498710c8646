"""Words of the status of a variant or of a segment, for pages, charts, reports and the terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from engine.analysis.results.report import DOUBTFUL, DecisionSummary, Reason, Recommendation, Tone
from engine.analysis.results.segment_report import SegmentStatus
from engine.analysis.results.variant_result import VariantStatus

# Recommendations before which no variant has won or lost.
_UNDECIDED: Final[frozenset[Recommendation]] = frozenset({"keep_running", "insufficient_data", "fix_data"})


@dataclass(frozen=True, slots=True)
class StatusWord:
    """What a status is called, how it is toned, and the mark that a chart draws it with."""

    label: str
    tone: Tone
    shape: str


_BETTER: Final = StatusWord("better", "positive", "triangle-up")
_WORSE: Final = StatusWord("worse", "negative", "triangle-down")
# In the order of legends.
STATUS_WORDS: Final[Mapping[VariantStatus | SegmentStatus, StatusWord]] = MappingProxyType(
    {
        "control": StatusWord("control", "neutral", "circle"),
        "winner": _BETTER,
        "better": _BETTER,
        "loser": _WORSE,
        "worse": _WORSE,
        "differs": StatusWord("differs from the rest", "warning", "square"),
        "inconclusive": StatusWord("no clear difference", "neutral", "circle"),
        "insufficient_data": StatusWord("not enough data", "neutral", "diamond"),
    }
)


def shown_status(status: VariantStatus, decision: DecisionSummary) -> VariantStatus:
    """Return the status to show: a win or a loss only where the verdict rests on it."""
    return status_beside(status, decision.recommendation, decision.reason)


def status_beside(
    status: VariantStatus, recommendation: Recommendation, reason: Reason | None
) -> VariantStatus:
    """Return the status to show beside a verdict: none is decided of some of the visitors."""
    is_open = recommendation in _UNDECIDED or reason == "exploratory" or reason in DOUBTFUL
    return "inconclusive" if is_open and status in {"winner", "loser"} else status
