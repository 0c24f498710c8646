"""Goal configs: the keys of each goal type, their checks and defaults."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.errors import Problem
from engine.measures.event_selection import (
    EVENT_KEYS,
    EVENT_NAME,
    REQUIRED_KEYS,
    page_problems,
    without_nulls,
)
from engine.measures.measure_table import CONFIG_MEASURES, measure_of
from engine.validation.check import Check, unchecked
from engine.validation.records import Record, keys_of
from engine.validation.values import at, choice, currency, number, shown, whole
from engine.vocabulary import Direction, GoalType, RevenuePer, words

DEFAULT_REVENUE_EVENT = "purchase"
_LARGEST_CENTS = 10**12
# Margins that make a goal a guardrail, of which a goal has one: it must not get worse by more than that.
MARGIN_KEYS = ("guardrail_margin_percent", "guardrail_margin_absolute")
# Keys of every goal type. Events count for a goal in
# the `window` of so many days after the first exposure.
_COMMON: dict[str, Check] = {
    "direction": choice(words(Direction)),
    "window": whole(1, 365),
    "guardrail_margin_percent": number(0, 99),
    "guardrail_margin_absolute": number(0, _LARGEST_CENTS),
    "minimum_effect_percent": number(0.1, 1000),
}
# Below the median a cap would cut ordinary amounts, not the outliers.
_CAP: dict[str, Check] = {"cap_percentile": number(50, 100)}
# A revenue goal measures money.
_MEASURE: dict[str, Check] = {
    "measure": choice(tuple(CONFIG_MEASURES)),
    **{key: check for measure in CONFIG_MEASURES.values() for key, check in measure.keys.items()},
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
    measures = "; ".join(f"`{name}`, {measure.description}" for name, measure in CONFIG_MEASURES.items())
    measures = measures.replace("`converted`,", "`converted` (default),", 1)
    return (
        f"By goal type: {by_type}. All types take `direction`, `increase` or `decrease`; `window`, the days "
        "after the first exposure in which events count, 1 to 365, within the project's "
        "`attribution_window_days`; and "
        "`minimum_effect_percent`, the smallest relevant lift in percent of the control. All goals but "
        "the primary one take the acceptable loss: `guardrail_margin_percent`, of the control, or "
        "`guardrail_margin_absolute` in percentage points, cents or its own unit, also for means below 0. "
        f"All but revenue take `measure`: {measures}. Counts and values take "
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
GOAL_CONFIG: Check = unchecked(type="object", additionalProperties=True).described(
    _config_description(), example={"event_name": "purchase"}
)


def tracking_of(goal_type: GoalType, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a goal's config with its defaults and without nulls; goals with equal ones track the same."""
    given = without_nulls(config)
    filled_in = measure_of(goal_type, given).fill_in(goal_type, given)
    return {"direction": "increase", **_DEFAULTS[goal_type], **filled_in}


def counts_money(goal_type: GoalType, tracking: Mapping[str, Any]) -> bool:
    """Tell whether the goal takes the value of a tracked event as money."""
    is_summed = measure_of(goal_type, tracking).summed(tracking) == "value"
    return goal_type == "revenue" or ("value_param" in tracking and not is_summed)


def missing_event_keys(goals: object) -> Iterator[Problem]:
    """Refuse measures that lack a key that the service needs to count events.

    `goals` are still JSON-like, or built. The goals of data frames have columns instead of events.
    """
    for index, goal in enumerate(goals if isinstance(goals, list | tuple) else ()):
        config = goal.get("config") if isinstance(goal, Mapping) else None
        if not isinstance(config, Mapping):
            continue
        name = config.get("measure")
        measure = CONFIG_MEASURES.get(name) if isinstance(name, str) else None
        if measure is not None and measure.needed_of_events is not None:
            key, message = measure.needed_of_events
            if config.get(key) is None:
                yield Problem(f"goals[{index}].config.{key}", message)


_CONFIGS: Final = {
    goal_type: keys_of(keys, required=REQUIRED_KEYS[goal_type], what=f"the config of a {goal_type} goal")
    for goal_type, keys in CONFIG_KEYS.items()
}


def config_fits_type(goal: Record) -> Iterable[Problem]:
    """Check the config by the keys of the goal's type."""
    if "goal_type" not in goal or "config" not in goal:
        return
    goal_type, config = goal["goal_type"], goal["config"]
    problems = list(_CONFIGS[goal_type](config))
    margins = [key for key in MARGIN_KEYS if not problems and config.get(key) is not None]
    if goal.get("is_primary") and margins:
        message = "a guardrail can't be the primary goal, which is to win; make another goal primary"
        problems.append(Problem(margins[0], message))
    elif len(margins) > 1:
        problems.append(Problem(margins[1], "a guardrail has one margin: leave out this one or the other"))
    yield from at("config", problems or _between_keys(goal_type, tracking_of(goal_type, config)))


def _between_keys(goal_type: GoalType, tracking: Mapping[str, Any]) -> Iterator[Problem]:
    measure = measure_of(goal_type, tracking)
    if "cap_percentile" in tracking and not measure.takes_cap:
        yield Problem("cap_percentile", "caps amounts: leave it out, or measure the goal by count or value")
    if "window" in tracking and not measure.takes_window:
        yield Problem("window", f"a {measure.word} goal counts events of its own days: leave it out")
    for other in CONFIG_MEASURES.values():
        for key in other.keys.keys() - measure.keys.keys():
            if key in tracking:
                yield Problem(key, other.keys_are)
    yield from measure.find_problems(goal_type, tracking)
    yield from page_problems(tracking)
    low, high = tracking.get("min_cents", 0), tracking.get("max_cents", _LARGEST_CENTS)
    if low > high:
        yield Problem("max_cents", f"{shown(high)} is below min_cents, {shown(low)}; no order could count")
