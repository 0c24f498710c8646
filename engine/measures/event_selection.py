"""Selection of events: the config keys of each goal type, and of the parts of ratios and funnels."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.errors import Problem
from engine.validation.check import Check
from engine.validation.patterns import url_pattern_problem
from engine.validation.records import key_problems
from engine.validation.values import choice, shown, text
from engine.vocabulary import GoalType, UrlMatchType, words

EVENT_NAME: Final = text(255)
_SELECTOR: Final = text(1024)
# Goal types whose events are selected by these keys alone; a revenue goal has bounds of its own.
EVENT_KEYS: Final[Mapping[str, Mapping[str, Check]]] = {
    "pageview": {"url": text(2048), "match_type": choice(words(UrlMatchType))},
    "click": {"selector": _SELECTOR, "url": text(2048)},
    "custom_event": {"event_name": EVENT_NAME},
    "ga4_event": {"event_name": EVENT_NAME, "value_param": text(100)},
}
# What every event has besides, as a measure may read it: these, and attributes by their key.
EVENT_FIELDS: Final = ("url", "transaction_id")
OWN_ATTRIBUTE: Final = "custom:"
REQUIRED_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "pageview": ("url",),
    "click": ("selector",),
    "custom_event": ("event_name",),
    "revenue": (),
    "ga4_event": ("event_name",),
}


def page_problems(config: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problem of a URL pattern that can match nothing."""
    if "url" in config:
        message = url_pattern_problem(config.get("match_type", "exact"), config["url"])
        if message:
            yield Problem("url", message)


def without_nulls(config: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the keys that are null, which are the same as absent ones."""
    return {key: value for key, value in config.items() if value is not None}


def part_problems(  # noqa: PLR0913  # the rest is said by name
    goal_type: GoalType,
    part: object,
    *,
    what: str,
    is_no: str,
    more: Mapping[str, Check],
    without: Iterable[str] = (),
) -> list[Problem]:
    """Check a part of a goal, `what`, which selects events by the keys of its own goal type.

    It takes the keys `more` besides, and not those `without`; `is_no` says of a type what it can't be.
    """
    if not isinstance(part, Mapping):
        return [Problem("", f"must be an object, not {shown(part)}")]
    given = without_nulls(part)
    of_type = given.get("goal_type", goal_type)
    if not isinstance(of_type, str) or of_type not in EVENT_KEYS:
        known = ", ".join(map(repr, EVENT_KEYS))
        return [Problem("goal_type", f"{shown(of_type)} {is_no}; use one of {known}")]
    own = {key: check for key, check in EVENT_KEYS[of_type].items() if key not in without}
    keys = {"goal_type": choice(tuple(EVENT_KEYS)), **more, **own}
    return list(key_problems(keys, REQUIRED_KEYS[of_type], what, given))


def selected_events(goal_type: GoalType, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what selects the events of a goal, or of a part with a `goal_type` of its own."""
    of_type = config.get("goal_type", goal_type)
    keys = {key: config[key] for key in EVENT_KEYS[of_type] if key in config and key != "value_param"}
    default = {"match_type": "exact"} if of_type == "pageview" else {}
    return {"goal_type": of_type, **default, **keys}
