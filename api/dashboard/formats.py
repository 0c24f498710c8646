"""Numbers and times as people read them; an absent number is a dash."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from api.dashboard.audience import audience_in
from api.dashboard.interval_bar import IntervalBar
from api.dashboard.next_steps import next_step
from engine.analysis.results.formatting import exact_money, listed
from engine.analysis.results.report import DecisionSummary, Reason, Recommendation
from engine.analysis.results.rounding import round_percent
from engine.analysis.results.status_words import STATUS_WORDS, StatusWord, shown_status
from engine.analysis.results.variant_result import Interval, Metric, VariantResult, VariantStatus
from engine.analysis.results.verdict_words import CHECK_WORDS, VERDICT_WORDS, ShortWord, verdict_of

ABSENT: Final = "\N{EN DASH}"
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400


def count(value: float | None) -> str:
    """Format a number of things: 12,345."""
    return ABSENT if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """Format a percentage: 4.68%."""
    return ABSENT if value is None else f"{value:,.2f}%"


def percent_of(share: float | None) -> float | None:
    """Convert a share to the percent that answers of the API have."""
    return None if share is None else round_percent(share)


def change(value: float | None) -> str:
    """Format a relative change in percent, with its sign: +17.1%, and 0% without one."""
    if value is None:
        return ABSENT
    text = f"{value:+,.1f}%"
    return "0%" if text in {"+0.0%", "-0.0%"} else text.replace("-", "\N{MINUS SIGN}")


def axis_number(share: float) -> str:
    """Format a number of an axis: +20%, and 0 in its middle."""
    return f"{100 * share:+g}%".replace("-", "\N{MINUS SIGN}") if share else "0"


def bar_label(bar: IntervalBar) -> str:
    """Say a bar in words: "+15.8%, from +11.6% to +20.2%"."""
    said = change(percent_of(bar.point))
    return said if bar.interval is None else f"{said}, from {interval(bar.interval)}"


def interval(value: Interval | None) -> str:
    """Format an interval of a change: "+6.2% to +29.2%"; an open end is infinite."""
    if value is None:
        return ABSENT
    low = "\N{MINUS SIGN}\N{INFINITY}" if value.low is None else change(percent_of(value.low))
    high = "\N{INFINITY}" if value.high is None else change(percent_of(value.high))
    return f"{low} to {high}"


def at_level(value: Interval | None) -> str:
    """Name the level of an interval: "at 95%"."""
    return "" if value is None else f"at {round_percent(value.level):g}%"


def money(cents: float | None, currency: str) -> str:
    """Format minor units of a currency: 41,198.53 USD."""
    return ABSENT if cents is None else exact_money(cents, currency)


def metric(value: Metric) -> str:
    """Format what a goal is measured in: a percentage, money or a number."""
    if value.unit == "cents":
        return money(value.value, value.currency)
    return percent(percent_of(value.value)) if value.unit == "share" else number(value.value)


def shown(status: VariantStatus, decision: DecisionSummary | None = None) -> StatusWord:
    """Return the word of a status, as it is shown beside a verdict."""
    return STATUS_WORDS[status if decision is None else shown_status(status, decision)]


def verdict_word(decided: tuple[Recommendation, Reason | None]) -> ShortWord:
    """Return the word of a recommendation with its reason."""
    return VERDICT_WORDS[verdict_of(*decided)]


def step_words(decision: DecisionSummary) -> str:
    """Return the words of the step that fits a verdict: "Ship “One page”"."""
    verdict = verdict_of(decision.recommendation, decision.reason)
    return next_step(verdict, decision.variant_name, decision.control_variant_name)


def levels(variants: Iterable[VariantResult]) -> str:
    """Name the levels of the intervals of changes, in percent: "95%", or "95% and 98.75%"."""
    found = {round_percent(one.improvement_interval.level) for one in variants if one.improvement_interval}
    return listed([f"{level:g}%" for level in sorted(found)])


def number(value: float | None) -> str:
    """Format a mean in a unit of its own."""
    return ABSENT if value is None else f"{value:,.4g}"


def day(value: str | datetime | None) -> str:
    """Format a time as a date: 26 Oct 2026."""
    return ABSENT if value is None else f"{_time(value):%-d %b %Y}"


def long_day(value: datetime) -> str:
    """Format a local time as a date with its weekday: Monday 26 October 2026."""
    return f"{value:%A %-d %B %Y}"


def brief_day(value: str | datetime | None) -> str:
    """Format a time of this year as a date without it: 26 Oct."""
    if value is None:
        return ABSENT
    time = _time(value)
    return f"{time:%-d %b}" if time.year == datetime.now(UTC).year else f"{time:%-d %b %Y}"


def ago(value: str | datetime | None) -> str:
    """Format a time as its age: "5 minutes ago"."""
    if value is None:
        return ABSENT
    seconds = max(0.0, (datetime.now(UTC) - _time(value)).total_seconds())
    for size, unit in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        amount = int(seconds // size)
        if amount:
            return f"{amount} {unit}{'s' if amount > 1 else ''} ago"
    return "just now"


def words(value: str) -> str:
    """Format a code as words: keep_running is "keep running"."""
    return value.replace("_", " ")


def as_json(value: object) -> str:
    """Write a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def check_label(check: str) -> str:
    """Name a health check; one of another version by its code."""
    return CHECK_WORDS[check].label if check in CHECK_WORDS else words(check)


def _time(value: str | datetime) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


FILTERS: Final[dict[str, Callable[..., str | float | StatusWord | ShortWord | None]]] = {
    "count": count,
    "percent": percent,
    "percent_of": percent_of,
    "change": change,
    "axis_number": axis_number,
    "bar_label": bar_label,
    "interval": interval,
    "at_level": at_level,
    "money": money,
    "metric": metric,
    "number": number,
    "day": day,
    "long_day": long_day,
    "brief_day": brief_day,
    "ago": ago,
    "words": words,
    "check_label": check_label,
    "shown": shown,
    "verdict_word": verdict_word,
    "audience": audience_in,
    "step_words": step_words,
    "levels": levels,
    "as_json": as_json,
}
