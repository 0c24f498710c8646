"""Numbers of results as the results page writes them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, Final

from api.dashboard.formats import ABSENT, percent, percent_of, words
from api.dashboard.results_page.plot import day_words
from engine.analysis.results.formatting import (
    exact_money,
    figure,
    p_text,
    steps_text,
)
from engine.analysis.results.report import DecisionSummary
from engine.analysis.results.variant_result import Metric, VariantResult
from engine.analysis.results.verdict_words import CHECK_WORDS, ShortWord, end_word, verdict_of

_USUAL_LEVEL: Final = 0.05
_ABBREVIATED: Final = re.compile(r"\b(?:os|utm)\b", re.IGNORECASE)


def bare_metric(value: Metric) -> str:
    """Format what a goal is measured in without its unit, which stands beside it."""
    if value.value is None:
        return ABSENT
    if value.unit == "cents":
        return exact_money(value.value, value.currency).removesuffix(f" {value.currency}")
    return percent(percent_of(value.value)) if value.unit == "share" else figure(value.value)


def difference_text(variant: VariantResult) -> str:
    """Format the difference from the control in the unit of the goal: points of a share, or its own."""
    return _signed(variant.metric, variant.compared.absolute_difference)


def difference_interval(variant: VariantResult) -> str:
    """Format the interval of the difference."""
    found, metric = variant.compared.absolute_difference_interval, variant.metric
    return ABSENT if found is None else f"{_signed(metric, found.low)} to {_signed(metric, found.high)}"


def p_value(value: float | None) -> str:
    """Format a p value."""
    return ABSENT if value is None else p_text(value, _USUAL_LEVEL).removeprefix("= ")


def p_words(value: float) -> str:
    """Format a p value with its sign: `= 0.02`, `< 0.0001`."""
    return p_text(value, _USUAL_LEVEL)


def check_fix(check: str) -> str:
    """Say what to do about a check, where its message does not."""
    return CHECK_WORDS[check].fix if check in CHECK_WORDS else ""


def level(value: float) -> str:
    """Format the level of intervals: 98.75%."""
    return f"{value:g}%"


def _signed(metric: Metric, value: float | None) -> str:
    if value is None:
        return ABSENT
    if metric.unit == "share":
        return f"{100 * value:+.2f} pp".replace("-", "\N{MINUS SIGN}")
    size = bare_metric(replace(metric, value=abs(value)))
    return f"{'+' if value > 0 else chr(0x2212)}{size}" if value else size


def dimension_words(name: str) -> str:
    """Name a dimension of segments: Device type, OS, UTM source; a custom one by its key."""
    plain = words(name.removeprefix("custom:"))
    return _ABBREVIATED.sub(lambda found: found[0].upper(), plain[:1].upper() + plain[1:])


def night_day(value: str) -> str:
    """Format a day of an address as charts do: 6 Nov; what is none stays as it is."""
    try:
        return day_words(date.fromisoformat(value))
    except ValueError:
        return value


def end_of(conclusion: Mapping[str, Any], decision: DecisionSummary) -> ShortWord:
    """Return the word of what was decided, beside the verdict."""
    return end_word(conclusion["decision"], verdict_of(decision.recommendation, decision.reason))


FILTERS: Final[dict[str, Callable[..., str | ShortWord]]] = {
    "end_word": end_of,
    "bare_metric": bare_metric,
    "difference_text": difference_text,
    "difference_interval": difference_interval,
    "p_value": p_value,
    "p_text": p_words,
    "check_fix": check_fix,
    "level": level,
    "chart_day": day_words,
    "night_day": night_day,
    "steps": steps_text,
    "dimension_words": dimension_words,
}
