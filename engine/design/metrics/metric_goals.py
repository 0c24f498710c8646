"""Goals that are defined by metrics: filled in from the newest version until the experiment starts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.goals import CONFIG_KEYS, MARGIN_KEYS, tracking_of
from engine.design.metrics.metric import Metric
from engine.errors import InvalidDesignError, Problem
from engine.validation.parsing import by_id
from engine.validation.records import Record
from engine.validation.values import at, shown
from engine.vocabulary import Status

Metrics = Mapping[str, Metric]
# Statuses in which no visitor was counted: goals follow the newest version of their metrics.
FOLLOWING: tuple[Status, ...] = ("draft", "scheduled")
# Keys of a config that a goal of a metric may set for itself: its role in one experiment.
OWN_KEYS = (*MARGIN_KEYS, "minimum_effect_percent")


def with_metrics(
    items: object, stored: Sequence[Record], metrics: Metrics, *, is_started: bool = False
) -> object:
    """Fill in the goals that name a metric, before they are merged into the `stored` ones.

    A goal that is stored in a started experiment keeps its version. Problems are those of `metric_problems`.
    """
    if not isinstance(items, list | tuple):
        return items
    return [
        _filled_in(item, by_id(stored, item.get("id")), metrics, is_started=is_started)
        if isinstance(item, Mapping)
        else item
        for item in items
    ]


def metric_problems(
    items: object, stored: Sequence[Record], metrics: Metrics, *, is_started: bool = False
) -> Iterator[Problem]:
    """Yield the problems of goals with their metrics; of `items` as they were sent."""
    for index, item in enumerate(items if isinstance(items, list | tuple) else ()):
        if not isinstance(item, Mapping):
            continue
        before = by_id(stored, item.get("id"))
        metric_id = item.get("metric_id", before.get("metric_id"))
        if metric_id is None or (is_started and before):
            continue
        metric = _find(metrics, metric_id)
        if metric is None:
            message = (
                f"no metric of the project has the id {shown(metric_id)}; send null for a goal of its own"
            )
            yield Problem(f"[{index}].metric_id", message)
        else:
            yield from at(f"[{index}]", _contradictions(item, metric))


def following(experiment: Experiment, before: Metric, after: Metric, *, now: datetime) -> Experiment:
    """Return an experiment that has not started with the new version of a metric in its goals.

    InvalidDesignError where it could not have it.
    """
    goals = tuple(
        _following_goal(goal, before, after) if goal.metric_id == after.id else goal
        for goal in experiment.goals
    )
    return experiment if goals == experiment.goals else replace(experiment, goals=goals, updated_at=now)


def uses(experiment: Experiment, metric_id: str) -> bool:
    """Return whether a goal of the experiment is defined by a metric."""
    return any(goal.metric_id == metric_id for goal in experiment.goals)


def require_following(experiment: Experiment, before: Metric, after: Metric, *, now: datetime) -> Experiment:
    """Return `following`; where that is invalid, InvalidDesignError names the experiment."""
    try:
        return following(experiment, before, after, now=now)
    except InvalidDesignError as error:
        name = shown(experiment.name)
        problems = [
            Problem("config", f"does not fit the {experiment.status} experiment {name}: {problem.message}")
            for problem in error.problems
        ]
        raise InvalidDesignError(problems) from None


def _following_goal(goal: Goal, before: Metric, after: Metric) -> Goal:
    own = {
        key: goal.config[key]
        for key in OWN_KEYS
        if key in goal.config and goal.config[key] != before.config.get(key)
    }
    config = {**after.config, **own}
    return replace(goal, goal_type=after.goal_type, config=config, metric_version=after.version)


def _filled_in(item: Record, stored: Record, metrics: Metrics, *, is_started: bool) -> dict[str, Any]:
    metric_id = item.get("metric_id", stored.get("metric_id"))
    if is_started and stored:
        return {**item, "metric_version": stored["metric_version"]}
    metric = _find(metrics, metric_id)
    if metric is None:
        return {**item, "metric_version": None}
    filled_in = {
        "name": stored.get("name", metric.name),
        **item,
        "goal_type": metric.goal_type,
        "metric_id": metric.id,
        "metric_version": metric.version,
    }
    is_kept = stored.get("metric_id") == metric.id
    config = item.get("config", stored["config"] if is_kept else {})
    # What is no object stays, for the checks to report.
    if isinstance(config, Mapping):
        filled_in["config"] = {**metric.config, **_kept(item, config, metric)}
    return filled_in


def _kept(item: Record, config: Mapping[str, Any], metric: Metric) -> dict[str, Any]:
    """Return the keys of the goal itself, and unknown ones, for the checks to report."""
    known = CONFIG_KEYS[metric.goal_type] if _is_of(item, metric) else config
    return {key: value for key, value in config.items() if key in OWN_KEYS or key not in known}


def _is_of(item: Record, metric: Metric) -> bool:
    """Return whether a goal is of this version: what was read of another one is brought up to date."""
    return bool(item.get("metric_version", metric.version) == metric.version)


def _find(metrics: Metrics, metric_id: object) -> Metric | None:
    return metrics.get(metric_id) if isinstance(metric_id, str) else None


def _contradictions(item: Record, metric: Metric) -> Iterator[Problem]:
    """Yield a problem for each value that is sent and is not the metric's."""
    if not _is_of(item, metric):
        return
    of_metric = f"of the metric {shown(metric.name)}; leave it out, or send null as metric_id"
    if item.get("goal_type", metric.goal_type) != metric.goal_type:
        yield Problem(
            "goal_type", f"{shown(item['goal_type'])} is not {shown(metric.goal_type)}, {of_metric}"
        )
    config = item.get("config")
    if not isinstance(config, Mapping):
        return
    sent = tracking_of(metric.goal_type, {**metric.config, **config})
    for key in CONFIG_KEYS[metric.goal_type]:
        value = config.get(key)
        if key not in OWN_KEYS and value is not None and sent[key] != metric.tracking.get(key):
            yield Problem(f"config.{key}", f"{shown(value)} is not the value {of_metric}")
