"""Quantile: a quantile of the values of the visitors, such as their median."""

from typing import Final

from engine.measures.measure import Measure
from engine.validation.values import number

QUANTILE: Final = Measure(
    word="quantile",
    label="Quantile",
    unit="number",
    heading="quantile",
    predicate="had a {q} quantile of",
    keys={"q": number(0.001, 0.999)},
    keys_are="is of quantiles only: leave it out",
    is_of_events=False,
)
