"""Quantile: a quantile of the values of the visitors or of their events, such as the median."""

from dataclasses import replace
from typing import Final

from engine.measures.value import VALUE
from engine.validation.values import choice, number
from engine.vocabulary import QuantileOf, words

QUANTILE: Final = replace(
    VALUE,
    word="quantile",
    description=(
        "the quantile at `q` (default 0.5) of that sum, of visitors with a value; `of` `event`: of all values"
    ),
    label="Quantile",
    heading="quantile",
    predicate="had a {q} quantile of",
    per="",
    takes_cap=False,
    keys={"q": number(0.001, 0.999), "of": choice(words(QuantileOf))},
    keys_are="is of quantiles only: leave it out, or measure the goal by 'quantile'",
    not_in_sql="its values are counted in buckets of 1%, whose bounds engines round differently",
    fill_in=lambda _, config: {"q": 0.5, "of": "visitor", **config},
)
