"""Legend of statuses: their words, colours and shapes, in one order."""

from collections.abc import Iterable, Mapping
from typing import Final

from engine.analysis.results.report import Tone
from engine.analysis.results.segment_report import SegmentStatus
from engine.analysis.results.status_words import STATUS_WORDS, RowStatus
from engine.analysis.results.variant_result import VariantStatus
from engine.charts.themes import GREEN, GREY, ORANGE, VERMILION

_COLOURS: Final[Mapping[Tone, str]] = {
    "positive": GREEN,
    "negative": VERMILION,
    "neutral": GREY,
    "warning": ORANGE,
}


# Marks that Vega has no name for, as paths.
_PATHS: Final[Mapping[str, str]] = {"equal": "M-1,-.6H1V-.2H-1ZM-1,.2H1V.6H-1Z"}


def legend_of(
    statuses: Iterable[VariantStatus | SegmentStatus | RowStatus],
) -> tuple[list[str], list[str], list[str]]:
    """Return the words, colours and shapes of the statuses that are drawn, each once."""
    drawn = set(statuses)
    words = [word for status, word in STATUS_WORDS.items() if status in drawn]
    return (
        [word.label for word in words],
        [_COLOURS[word.tone] for word in words],
        [_PATHS.get(word.shape, word.shape) for word in words],
    )
