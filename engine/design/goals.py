"""Goal configs: the keys of each goal type, their checks and defaults."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.design.validation.check import Check, unchecked
from engine.design.validation.patterns import url_pattern_problem
from engine.design.validation.records import Record, keys_of
from engine.design.validation.values import (
    at,
    choice,
    currency,
    number,
    shown,
    text,
    whole,
)
from engine.design.vocabulary import Direction, GoalType, RevenuePer, UrlMatchType, words
from engine.errors import Problem

DEFAULT_REVENUE_EVENT = "purchase"
_LARGEST_CENTS = 10**12
_EVENT_NAME = text(255)
_SELECTOR = text(1024)
# Keys of every goal type. A guardrail must not get worse by more than its margin.
_COMMON: dict[str, Check] = {
    "direction": choice(words(Direction)),
    "guardrail_margin_percent": number(0, 99),
    "minimum_effect_percent": number(0.1, 1000),
}

CONFIG_KEYS: dict[str, dict[str, Check]] = {
    "pageview": {"url": text(2048), "match_type": choice(words(UrlMatchType)), **_COMMON},
    "click": {"selector": _SELECTOR, "url": text(2048), **_COMMON},
    "custom_event": {"event_name": _EVENT_NAME, **_COMMON},
    "revenue": {
        "event_name": _EVENT_NAME,
        "currency": currency,
        "min_cents": whole(0, _LARGEST_CENTS),
        "max_cents": whole(0, _LARGEST_CENTS),
        # Below the median a cap would cut the ordinary orders, not the outliers.
        "cap_percentile": number(50, 100),
        "per": choice(words(RevenuePer)),
        **_COMMON,
    },
    "ga4_event": {"event_name": _EVENT_NAME, "value_param": text(100), **_COMMON},
}
REQUIRED_KEYS: dict[str, tuple[str, ...]] = {
    "pageview": ("url",),
    "click": ("selector",),
    "custom_event": ("event_name",),
    "revenue": (),
    "ga4_event": ("event_name",),
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
        f"By goal type: {by_type}. All types take `direction`, `increase` or `decrease`, and "
        "`minimum_effect_percent`, the smallest relevant lift in percent of the control. All goals but "
        "the primary one take `guardrail_margin_percent`: the acceptable loss, in percent of the control."
    )


def _own_keys(goal_type: str) -> str:
    required = REQUIRED_KEYS[goal_type]
    return ", ".join(
        key if key in required else f"{key}?" for key in CONFIG_KEYS[goal_type] if key not in _COMMON
    )


# The rule config_fits_type checks it by the type of the goal.
GOAL_CONFIG: Check = unchecked(type="object", additionalProperties=True).described(_config_description())


def tracking_of(goal_type: GoalType, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a goal's config with its defaults and without nulls; goals with equal ones track the same."""
    given = {key: value for key, value in config.items() if value is not None}
    return {"direction": "increase", **_DEFAULTS[goal_type], **given}


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
    yield from at("config", problems or _between_keys(tracking_of(goal_type, config)))


def _between_keys(tracking: Mapping[str, Any]) -> Iterator[Problem]:
    if "url" in tracking:
        message = url_pattern_problem(tracking.get("match_type", "exact"), tracking["url"])
        if message:
            yield Problem("url", message)
    low, high = tracking.get("min_cents", 0), tracking.get("max_cents", _LARGEST_CENTS)
    if low > high:
        yield Problem("max_cents", f"{shown(high)} is below min_cents, {shown(low)}; no order could count")
