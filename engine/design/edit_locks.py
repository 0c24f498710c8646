"""Edit locks by status: a draft is editable, a paused experiment in part, a running one not at all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.goals import MARGIN_KEYS, tracking_of
from engine.errors import Problem, TransitionError
from engine.measures.measure_table import CONFIG_MEASURES
from engine.validation.parsing import by_id, merged
from engine.validation.records import Record
from engine.validation.values import at, shown
from engine.vocabulary import Status

LOCKED_WHILE_PAUSED = ("type", "url", "url_match_type", "url_rules", "unit", "ramp", "group", "exposure")
LOCKED_ONCE_COUNTED = ("confidence_level", "analysis_method", "traffic_strategy")
# Keys of every goal's config that judge what was counted, and those that say what of its events is counted.
JUDGING_KEYS = ("direction", *MARGIN_KEYS, "minimum_effect_percent")
LOCKED_OF_GOALS = (
    *JUDGING_KEYS,
    *("window", *(key for measure in CONFIG_MEASURES.values() for key in measure.keys)),
)
_REFUSALS: dict[Status, tuple[str, str]] = {
    "running": ("experiment_running", "'{name}' is running; pause it before you change it"),
    "completed": ("experiment_locked", "'{name}' is completed: its results are frozen; copy it to go on"),
    "archived": ("experiment_locked", "'{name}' is archived: its results are frozen; copy it to go on"),
}


def is_closed(status: Status) -> bool:
    """Tell whether a status allows no edits."""
    return status in _REFUSALS


def refuse_if_closed(experiment: Experiment) -> None:
    """Raise TransitionError if the status allows no edits."""
    if is_closed(experiment.status):
        code, message = _REFUSALS[experiment.status]
        raise TransitionError(code, message.format(name=experiment.name))


def violations(
    experiment: Experiment, current: Record, fields: Record, *, is_counted: bool = True
) -> list[Problem]:
    """List the locked fields that an edit would change, one problem a field; of a draft none.

    The rules of the verdict are free until a visitor was counted.
    """
    if experiment.status == "scheduled" and fields.get("group", current["group"]) != current["group"]:
        return [Problem("group", "is set in a draft only; first send null as scheduled_start_at")]
    if experiment.status != "paused":
        return []
    names = LOCKED_WHILE_PAUSED + (LOCKED_ONCE_COUNTED if is_counted else ())
    return [
        *_fixed_fields(names, current, fields),
        *_ramped_traffic(current, fields),
        *(_statistics(current["statistics"], fields.get("statistics")) if is_counted else ()),
        *at("variants", _variants(current["variants"], fields.get("variants"), is_counted=is_counted)),
        *at("goals", _goals(experiment, current["goals"], fields.get("goals"), is_counted=is_counted)),
    ]


def _fixed_fields(names: Sequence[str], current: Record, fields: Record) -> Iterator[Problem]:
    for name in names:
        if name in fields and fields[name] != current[name]:
            message = "cannot change once visitors have been counted"
            if name in LOCKED_WHILE_PAUSED:
                message = "cannot change once the experiment has started"
            yield Problem(name, f"{message}; send it as it was, or leave it out")


def _ramped_traffic(current: Record, fields: Record) -> Iterator[Problem]:
    name = "traffic_allocation"
    if current["ramp"] is not None and fields.get(name, current[name]) != current[name]:
        yield Problem(name, "follows the steps of the ramp; send it as it was, or leave it out")


def _statistics(current: Record, sent: object) -> Iterator[Problem]:
    if isinstance(sent, Mapping) and merged(current, sent) != merged(current, {}):
        yield Problem(
            "statistics", "cannot change once visitors have been counted: rules come before results"
        )


def _variants(current: Sequence[Record], sent: object, *, is_counted: bool) -> Iterator[Problem]:
    for index, item in _items(sent):
        existing = by_id(current, item.get("id"))
        if not existing:
            yield Problem(
                f"[{index}]",
                "adding variants is not possible while paused; send the ids of the existing ones",
            )
            continue
        # Null stands for the default, which is no control.
        if is_counted and "is_control" in item and (item["is_control"] or False) != existing["is_control"]:
            yield Problem(
                f"[{index}].is_control", "the control cannot change once visitors have been counted"
            )
        if existing["payload"] is not None and "payload" in item and item["payload"] is None:
            yield Problem(
                f"[{index}].payload", "cannot be removed once the experiment has started; send another one"
            )
        if "changes" in item:
            yield from at(f"[{index}].changes", _missing(existing["changes"], item["changes"], "change"))
    yield from _missing(current, sent, "variant")


def _goals(
    experiment: Experiment, current: Sequence[Record], sent: object, *, is_counted: bool
) -> Iterator[Problem]:
    existing = {goal.id: goal for goal in experiment.goals}
    for index, item in _items(sent):
        goal = existing.get(str(item.get("id")))
        if goal is not None:
            yield from at(f"[{index}]", _goal(goal, item, is_counted=is_counted))
    yield from _missing(current, sent, "goal")


def _goal(goal: Goal, sent: Mapping[str, Any], *, is_counted: bool) -> Iterator[Problem]:
    if goal.is_primary:
        yield from _primary_goal(goal, sent)
    elif goal.metric_id is not None and sent.get("goal_type", goal.goal_type) != goal.goal_type:
        yield Problem("goal_type", _fixed_by_metric(goal))
    if sent.get("metric_id", goal.metric_id) != goal.metric_id:
        hint = "leave it out" if goal.metric_id is None else f"send it as it was, {goal.metric_id}"
        yield Problem("metric_id", f"cannot change once visitors have been counted; {hint}")
    config = sent.get("config", goal.config)
    if not isinstance(config, Mapping):
        return
    before, after = goal.tracking, tracking_of(goal.goal_type, config)
    for key in _locked_keys(goal, is_counted=is_counted):
        if before.get(key) != after.get(key):
            hint = f"send it as it was, {shown(before[key])}" if key in before else "leave it out"
            yield Problem(f"config.{key}", f"cannot change once visitors have been counted; {hint}")
    if goal.is_primary and _counted(before) != _counted(after):
        yield Problem("config", "what the primary goal counts cannot change once visitors have been counted")
    elif goal.metric_id is not None and _counted(before) != _counted(after):
        yield Problem("config", _fixed_by_metric(goal))


def _locked_keys(goal: Goal, *, is_counted: bool) -> Sequence[str]:
    """List the locked keys of a goal's config: until a visitor was counted, what the primary goal counts."""
    if is_counted:
        return LOCKED_OF_GOALS
    is_fixed = goal.is_primary or goal.metric_id is not None
    return [key for key in LOCKED_OF_GOALS if key not in JUDGING_KEYS] if is_fixed else []


def _fixed_by_metric(goal: Goal) -> str:
    return (
        f"is version {goal.metric_version} of its metric, which holds once visitors have been counted; "
        "add another goal instead"
    )


def _counted(tracking: Record) -> dict[str, Any]:
    return {key: value for key, value in tracking.items() if key not in LOCKED_OF_GOALS}


def _primary_goal(primary: Goal, sent: Mapping[str, Any]) -> Iterator[Problem]:
    if sent.get("goal_type", primary.goal_type) != primary.goal_type:
        yield Problem(
            "goal_type", f"the primary goal stays a {primary.goal_type} goal once visitors are counted"
        )
    if sent.get("is_primary", True) is False:
        yield Problem("is_primary", "the primary goal stays the primary goal once visitors have been counted")


def _items(sent: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for index, item in enumerate(sent if isinstance(sent, list | tuple) else ()):
        if isinstance(item, Mapping):
            yield index, item


def _missing(current: Sequence[Record], sent: object, what: str) -> Iterator[Problem]:
    """Yield a problem for each existing part that is missing from the list that was sent."""
    if not isinstance(sent, list | tuple):
        return
    ids = [item.get("id") for _, item in _items(sent)]
    for record in current:
        if record["id"] not in ids:
            label = shown(record.get("name", record["id"]))
            yield Problem(
                "", f"the {what} {label} is missing; send every existing {what} with its id, {record['id']}"
            )
