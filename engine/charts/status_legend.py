"""Legend of statuses: their words, colours and shapes, in one order."""

from collections.abc import Iterable, Mapping
from typing import Final

from engine.analysis.results.report import Tone
from engine.analysis.results.segment_report import SegmentStatus
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.results.variant_result import VariantStatus
from engine.charts.themes import GREEN, GREY, ORANGE, VERMILION

_COLOURS: Final[Mapping[Tone, str]] = {
    "positive": GREEN,
    "negative": VERMILION,
    "neutral": GREY,
    "warning": ORANGE,
}


def legend_of(statuses: Iterable[VariantStatus | SegmentStatus]) -> tuple[list[str], list[str], list[str]]:
    """Return the words, colours and shapes of the statuses that are drawn, each once."""
    drawn = set(statuses)
    words = [word for status, word in STATUS_WORDS.items() if status in drawn]
    return (
        [word.label for word in words],
        [_COLOURS[word.tone] for word in words],
        [word.shape for word in words],
    )
