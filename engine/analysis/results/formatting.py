"""Formatting of percents, changes, money, p values, dates and lists in sentences."""

import math
from collections.abc import Sequence
from datetime import date

from engine.analysis.results.variant_result import Interval, VariantResult
from engine.currencies import minor_unit_digits, minor_units
from engine.vocabulary import MetricUnit

# Below this a share is 0 but for rounding errors.
_NOTHING = 1e-12


def chance(value: float) -> str:
    """Format a probability as a percent, never as 0% or 100%."""
    if value < 0.0001:
        return "less than 0.01%"
    return "more than 99.99%" if value > 0.9999 else share(value)


def share(value: float) -> str:
    """Format a share as a percent, to about three digits; as 0% or 100% only where it is."""
    decimals = 2 if value < 0.1 or value > 0.99 else 1
    return _trimmed(f"{value:.{_decimals(min(abs(value), abs(1.0 - value)), decimals)}%}")


def signed(value: float) -> str:
    """Format a relative change in percent, with its sign; as 0% only where there is none."""
    if abs(value) < _NOTHING:
        return "0%"
    return _with_minus(_trimmed(f"{value:+.{_decimals(abs(value), 1)}%}"))


def money(cents: float, currency: str) -> str:
    """Format an amount in minor units with its currency, whole where it is large."""
    is_large = abs(cents) >= 1000 * minor_units(currency)
    return exact_money(cents, currency, digits=0 if is_large else None)


def exact_money(cents: float, currency: str, *, digits: int | None = None) -> str:
    """Format an amount in minor units with its currency: 41,198.53 USD, 4,119,853 JPY, 4,119.853 KWD.

    It has the decimal digits of the currency unless others are asked for.
    """
    decimals = minor_unit_digits(currency) if digits is None else digits
    return _with_minus(f"{cents / minor_units(currency):,.{decimals}f} {currency}")


def figure(value: float) -> str:
    """Format a number of any unit to about four digits."""
    size = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:,.{min(max(3 - size, 0), 12)}f}"
    return _with_minus(text.rstrip("0").rstrip(".") if "." in text else text)


def amount(value: float, unit: MetricUnit, currency: str) -> str:
    """Format what a goal is measured in: a share, money or a number."""
    if unit == "cents":
        return money(value, currency)
    return share(value) if unit == "share" else figure(value)


def signed_figure(value: float) -> str:
    """Format a difference as `figure`, with its sign."""
    return f"+{figure(value)}" if value > 0 else figure(value)


def metric_text(variant: VariantResult) -> str:
    """Format the metric of a variant in its unit; empty where there is none."""
    metric = variant.metric
    return "" if metric.value is None else amount(metric.value, metric.unit, metric.currency)


def difference(value: float, unit: MetricUnit, currency: str) -> str:
    """Format a difference of means in the unit of their goal: percentage points, money or a number."""
    if unit == "share":
        points = signed(value).removesuffix("%")
        return f"{points} percentage {'point' if points[1:] == '1' else 'points'}"
    if unit == "cents":
        return f"+{money(value, currency)}" if value > 0 else money(value, currency)
    return signed_figure(value)


def p_text(p: float, level: float) -> str:
    """Format a p value as `= 0.031`, with enough digits to be seen on its side of the level."""
    if p < 0.0001:
        return "< 0.0001"
    for digits in range(2, 10):
        text = f"{p:.{digits}g}"
        if (float(text) <= level) == (p <= level) and (float(text) == level) == (p == level):
            return f"= {text}"
    return f"= {p}"


def day(when: date) -> str:
    """Format a date as `2 March 2026`."""
    return f"{when.day} {when:%B %Y}"


def listed(parts: Sequence[str]) -> str:
    """Join the parts of a list: `a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _decimals(size: float, usual: int) -> int:
    """Return the usual decimals of a percent, or as many as its first digit needs."""
    if size < _NOTHING or round(100.0 * size, usual) > 0:
        return usual
    return math.ceil(-math.log10(100.0 * size))


def _trimmed(percent: str) -> str:
    number = percent.removesuffix("%")
    return f"{number.rstrip('0').rstrip('.')}%" if "." in number else percent


def _with_minus(figure: str) -> str:
    # A hyphen may be broken off at the end of a line; the minus sign stays with its number.
    return figure.replace("-", "\N{MINUS SIGN}")


def interval_text(interval: Interval | None) -> str:
    """Format an interval of a change: `+1% to +7.5%`; empty where there is none."""
    if interval is None:
        return ""
    low = "\N{MINUS SIGN}∞" if interval.low is None else signed(interval.low)
    return f"{low} to {'+∞' if interval.high is None else signed(interval.high)}"


def steps_text(variant: VariantResult) -> str:
    """List the visitors of a variant at each step of a funnel: `B: 900 visitors → cart 310 → paid 120`."""
    steps = " → ".join(f"{step.name} {step.visitors:,}" for step in variant.details.steps or ())
    return f"{variant.variant_name}: {variant.visitors:,} visitors → {steps}"
