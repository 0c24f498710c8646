"""Goal configs: the keys of each goal type, their checks and defaults."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.design.event_selection import (
    EVENT_KEYS,
    EVENT_NAME,
    FUNNEL_KEYS,
    RATIO_KEYS,
    REQUIRED_KEYS,
    denominator_of,
    funnel_problems,
    page_problems,
    ratio_problems,
    steps_of,
    without_nulls,
)
from engine.design.validation.check import Check, unchecked
from engine.design.validation.records import Record, keys_of
from engine.design.validation.values import (
    at,
    choice,
    currency,
    number,
    shown,
    whole,
)
from engine.design.vocabulary import (
    Direction,
    GoalType,
    Measure,
    MetricUnit,
    RevenuePer,
    words,
)
from engine.errors import Problem

DEFAULT_REVENUE_EVENT = "purchase"
# Measures with amounts, which can be capped.
_OF_AMOUNTS: tuple[Measure, ...] = ("count", "value")
_LARGEST_CENTS = 10**12
# Keys of every goal type. A guardrail must not get worse by more than its margin. Events count for a goal in
# the `window` of so many days after the first exposure.
_COMMON: dict[str, Check] = {
    "direction": choice(words(Direction)),
    "window": whole(1, 365),
    "guardrail_margin_percent": number(0, 99),
    "minimum_effect_percent": number(0.1, 1000),
}
# Below the median a cap would cut ordinary amounts, not the outliers.
_CAP: dict[str, Check] = {"cap_percentile": number(50, 100)}
# A revenue goal measures money.
_MEASURE: dict[str, Check] = {
    "measure": choice(words(Measure)),
    **RATIO_KEYS,
    **FUNNEL_KEYS,
    # Days after the first exposure in which a visitor is retained.
    "from_day": whole(1, 364),
    "to_day": whole(1, 364),
    **_CAP,
}

CONFIG_KEYS: dict[str, dict[str, Check]] = {
    **{goal_type: {**keys, **_MEASURE, **_COMMON} for goal_type, keys in EVENT_KEYS.items()},
    "revenue": {
        "event_name": EVENT_NAME,
        "currency": currency,
        "min_cents": whole(0, _LARGEST_CENTS),
        "max_cents": whole(0, _LARGEST_CENTS),
        **_CAP,
        "per": choice(words(RevenuePer)),
        **_COMMON,
    },
}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "pageview": {"match_type": "exact"},
    "click": {},
    "custom_event": {},
    "revenue": {"event_name": DEFAULT_REVENUE_EVENT},
    "ga4_event": {},
}


def _config_description() -> str:
    by_type = "; ".join(f"{goal_type} `{{{_own_keys(goal_type)}}}`" for goal_type in CONFIG_KEYS)
    return (
        f"By goal type: {by_type}. All types take `direction`, `increase` or `decrease`; `window`, the days "
        "after a visitor's first exposure in which events count for the goal, 1 to 365, within the project's "
        "`attribution_window_days`; and "
        "`minimum_effect_percent`, the smallest relevant lift in percent of the control. All goals but "
        "the primary one take `guardrail_margin_percent`: the acceptable loss, in percent of the control. "
        "All but revenue take `measure`: `converted` (default), the share of visitors with an event; "
        "`count`, the events per visitor; `value`, the sum of their `value` per visitor, to four "
        "decimals (of `value_param` where it is given); or `ratio`, the sum of its `numerator` (`count`, "
        "the default, or `value` of the goal's events) over that of its `denominator`, "
        "`{goal_type?, measure?, …}` with the keys of events of that type and `count` or `value` as its "
        "measure; or `retained`, the share of visitors with an event on the days `from_day` to `to_day` (by "
        "default the same) after their first exposure, of those whose days are over; "
        "or `funnel`, the share of visitors with the events of `steps`, each `{goal_type?, …}` with the keys "
        "of events of that type, and then one of the goal, in this order. Counts and values take "
        "`cap_percentile`: larger ones of a visitor count as that percentile of all visitors with some."
    )


def _own_keys(goal_type: str) -> str:
    required = REQUIRED_KEYS[goal_type]
    return ", ".join(
        key if key in required else f"{key}?"
        for key in CONFIG_KEYS[goal_type]
        if key not in {**_MEASURE, **_COMMON} or (key in _CAP and goal_type == "revenue")
    )


# The rule config_fits_type checks it by the type of the goal.
GOAL_CONFIG: Check = unchecked(type="object", additionalProperties=True).described(_config_description())


def tracking_of(goal_type: GoalType, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a goal's config with its defaults and without nulls; goals with equal ones track the same."""
    given = without_nulls(config)
    if given.get("measure") == "ratio" and isinstance(given.get("denominator"), Mapping):
        given = {"numerator": "count", **given, "denominator": denominator_of(goal_type, given)}
    if given.get("measure") == "retained" and "from_day" in given:
        given = {"to_day": given["from_day"], **given}
    if given.get("measure") == "funnel" and isinstance(given.get("steps"), list | tuple):
        given = {**given, "steps": steps_of(goal_type, given)}
    return {"direction": "increase", **_DEFAULTS[goal_type], **given}


def counts_money(goal_type: GoalType, tracking: Mapping[str, Any]) -> bool:
    """Tell whether the goal takes the value of a tracked event as money."""
    is_measured = "value" in {tracking.get("measure"), tracking.get("numerator")}
    return goal_type == "revenue" or ("value_param" in tracking and not is_measured)


def unit_of(goal_type: GoalType, measure: Measure) -> MetricUnit:
    """Return the unit of a goal's metric: a share of visitors, cents, or a number of its own unit."""
    if goal_type == "revenue":
        return "cents"
    return "number" if measure in {"count", "value", "ratio"} else "share"


def missing_event_keys(goals: object) -> Iterator[Problem]:
    """Refuse measures that lack a key that the service needs to count them from events.

    `goals` are still JSON-like, or built. The goals of data frames have columns instead of events.
    """
    for index, goal in enumerate(goals if isinstance(goals, list | tuple) else ()):
        config = goal.get("config") if isinstance(goal, Mapping) else None
        measure = config.get("measure") if isinstance(config, Mapping) else None
        if measure == "ratio" and isinstance(config, Mapping) and config.get("denominator") is None:
            message = "is required for a ratio: the events to divide by, such as {'event_name': 'purchase'}"
            yield Problem(f"goals[{index}].config.denominator", message)
        if measure == "retained" and isinstance(config, Mapping) and config.get("from_day") is None:
            message = "is required: the first day after exposure on which a visitor is retained, such as 7"
            yield Problem(f"goals[{index}].config.from_day", message)
        if measure == "funnel" and isinstance(config, Mapping) and config.get("steps") is None:
            message = "is required: the steps before the goal's event, such as [{'event_name': 'cart'}]"
            yield Problem(f"goals[{index}].config.steps", message)


def config_fits_type(goal: Record) -> Iterable[Problem]:
    """Check the config by the keys of the goal's type."""
    if "goal_type" not in goal or "config" not in goal:
        return
    goal_type, config = goal["goal_type"], goal["config"]
    what = f"the config of a {goal_type} goal"
    check = keys_of(CONFIG_KEYS[goal_type], required=REQUIRED_KEYS[goal_type], what=what)
    problems = list(check(config))
    if goal.get("is_primary") and not problems and config.get("guardrail_margin_percent") is not None:
        message = "a guardrail can't be the primary goal, which is to win; make another goal primary"
        problems.append(Problem("guardrail_margin_percent", message))
    yield from at("config", problems or _between_keys(goal_type, tracking_of(goal_type, config)))


def _between_keys(goal_type: GoalType, tracking: Mapping[str, Any]) -> Iterator[Problem]:
    if "cap_percentile" in tracking and goal_type != "revenue" and tracking.get("measure") not in _OF_AMOUNTS:
        yield Problem("cap_percentile", "caps amounts: leave it out, or measure the goal by count or value")
    yield from ratio_problems(goal_type, tracking)
    yield from funnel_problems(goal_type, tracking)
    yield from page_problems(tracking)
    yield from _retention_problems(tracking)
    low, high = tracking.get("min_cents", 0), tracking.get("max_cents", _LARGEST_CENTS)
    if low > high:
        yield Problem("max_cents", f"{shown(high)} is below min_cents, {shown(low)}; no order could count")


def _retention_problems(tracking: Mapping[str, Any]) -> Iterator[Problem]:
    if tracking.get("measure") != "retained":
        for key in ("from_day", "to_day"):
            if key in tracking:
                yield Problem(key, "is of retention only: leave it out, or measure the goal by 'retained'")
        return
    if "window" in tracking:
        yield Problem("window", "a retained goal counts events of its own days: leave it out")
    if tracking.get("from_day", 0) > tracking.get("to_day", 365):
        message = f"{shown(tracking['to_day'])} is before from_day, {shown(tracking['from_day'])}"
        yield Problem("to_day", message)
