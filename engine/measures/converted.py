"""Converted: the share of visitors with an event."""

from typing import Final

from engine.measures.measure import Measure

CONVERTED: Final = Measure(
    word="converted",
    description="the share of visitors with an event",
    label="Rate",
    unit="share",
    predicate="converted",
    has_days=True,
    has_mean=False,
)
