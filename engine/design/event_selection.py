"""Selection of events: the config keys of goals, and those of the parts of ratios and funnels."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.design.validation.check import Check, unchecked
from engine.design.validation.patterns import url_pattern_problem
from engine.design.validation.records import keys_of
from engine.design.validation.values import at, choice, shown, text
from engine.design.vocabulary import GoalType, Summed, UrlMatchType, words
from engine.errors import Problem

EVENT_NAME: Final = text(255)
_SELECTOR: Final = text(1024)
# Goal types whose events are selected by these keys alone; a revenue goal has bounds of its own.
EVENT_KEYS: Final[Mapping[str, Mapping[str, Check]]] = {
    "pageview": {"url": text(2048), "match_type": choice(words(UrlMatchType))},
    "click": {"selector": _SELECTOR, "url": text(2048)},
    "custom_event": {"event_name": EVENT_NAME},
    "ga4_event": {"event_name": EVENT_NAME, "value_param": text(100)},
}
REQUIRED_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "pageview": ("url",),
    "click": ("selector",),
    "custom_event": ("event_name",),
    "revenue": (),
    "ga4_event": ("event_name",),
}
_SUMMED: Final = choice(words(Summed))
RATIO_KEYS: Final[Mapping[str, Check]] = {
    "numerator": _SUMMED,
    # Checked by its own goal type in `ratio_problems`.
    "denominator": unchecked(type="object"),
}
# Steps before the last one, which is the goal itself.
MOST_STEPS: Final = 9
FUNNEL_KEYS: Final[Mapping[str, Check]] = {
    # Checked by their own goal types in `funnel_problems`.
    "steps": unchecked(type="array"),
}


def page_problems(config: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problem of a URL pattern that can match nothing."""
    if "url" in config:
        message = url_pattern_problem(config.get("match_type", "exact"), config["url"])
        if message:
            yield Problem("url", message)


def denominator_of(goal_type: GoalType, tracking: Mapping[str, Any]) -> dict[str, Any]:
    """Return the denominator of a ratio goal with its defaults, as the `goal_type` and config of a goal."""
    return {"goal_type": goal_type, "measure": "count", **without_nulls(tracking["denominator"])}


def steps_of(goal_type: GoalType, tracking: Mapping[str, Any]) -> list[Any]:
    """Return the steps before the last one of a funnel, each as the `goal_type` and config of a goal.

    A step that is no object stays as it is, for `funnel_problems` to refuse.
    """
    return [
        {"goal_type": goal_type, **without_nulls(step)} if isinstance(step, Mapping) else step
        for step in tracking["steps"]
    ]


def without_nulls(config: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the keys that are null, which are the same as absent ones."""
    return {key: value for key, value in config.items() if value is not None}


def ratio_problems(goal_type: GoalType, tracking: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the keys of ratios in the config of a goal without nulls."""
    if tracking.get("measure") != "ratio":
        for key in RATIO_KEYS:
            if key in tracking:
                message = "is of ratios only: leave it out, or measure the goal by 'ratio'"
                yield Problem(key, message)
    elif "denominator" in tracking:
        yield from at("denominator", _denominator_problems(goal_type, tracking["denominator"]))


def _denominator_problems(goal_type: GoalType, denominator: object) -> Iterable[Problem]:
    if not isinstance(denominator, Mapping):
        return [Problem("", f"must be an object, not {shown(denominator)}")]
    given = without_nulls(denominator)
    of_type = given.get("goal_type", goal_type)
    if not isinstance(of_type, str) or of_type not in EVENT_KEYS:
        known = ", ".join(map(repr, EVENT_KEYS))
        return [Problem("goal_type", f"{shown(of_type)} can't be divided by; use one of {known}")]
    keys = {"goal_type": choice(tuple(EVENT_KEYS)), "measure": _SUMMED, **EVENT_KEYS[of_type]}
    problems = list(keys_of(keys, required=REQUIRED_KEYS[of_type], what="a denominator")(given))
    if not problems and "value_param" in given and given.get("measure") != "value":
        return [Problem("value_param", "names a value: leave it out, or set the measure to 'value'")]
    return problems or page_problems(given)


def funnel_problems(goal_type: GoalType, tracking: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the steps of a funnel in the config of a goal without nulls."""
    if tracking.get("measure") != "funnel":
        if "steps" in tracking:
            message = "are of funnels only: leave them out, or measure the goal by 'funnel'"
            yield Problem("steps", message)
        return
    steps = tracking.get("steps", ())
    if "steps" in tracking and not (isinstance(steps, list | tuple) and 0 < len(steps) <= MOST_STEPS):
        yield Problem(
            "steps", f"must be a list of 1 to {MOST_STEPS} objects, the steps before the goal's event"
        )
        return
    problems = [
        problem
        for place, step in enumerate(steps)
        for problem in at(f"steps[{place}]", _step_problems(goal_type, step))
    ]
    yield from problems or _repeated_steps(goal_type, tracking, steps)


def _step_problems(goal_type: GoalType, step: object) -> Iterable[Problem]:
    if not isinstance(step, Mapping):
        return [Problem("", f"must be an object, not {shown(step)}")]
    given = without_nulls(step)
    of_type = given.get("goal_type", goal_type)
    if not isinstance(of_type, str) or of_type not in EVENT_KEYS:
        known = ", ".join(map(repr, EVENT_KEYS))
        return [Problem("goal_type", f"{shown(of_type)} can't be a step; use one of {known}")]
    keys = {key: check for key, check in EVENT_KEYS[of_type].items() if key != "value_param"}
    keys["goal_type"] = choice(tuple(EVENT_KEYS))
    problems = keys_of(keys, required=REQUIRED_KEYS[of_type], what="a step")(given)
    return list(problems) or page_problems(given)


def _repeated_steps(
    goal_type: GoalType, tracking: Mapping[str, Any], steps: Iterable[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Yield the steps that select the events of another, as one event would be both."""
    seen = [_selected(goal_type, tracking)]
    for place, step in enumerate(steps):
        selected = _selected(goal_type, without_nulls(step))
        if selected in seen:
            message = "selects the events of another step, so that one event would be both; leave it out"
            yield Problem(f"steps[{place}]", message)
        seen.append(selected)


def _selected(goal_type: GoalType, config: Mapping[str, Any]) -> dict[str, Any]:
    of_type = config.get("goal_type", goal_type)
    keys = {key: config[key] for key in EVENT_KEYS[of_type] if key in config and key != "value_param"}
    default = {"match_type": "exact"} if of_type == "pageview" else {}
    return {"goal_type": of_type, **default, **keys}
