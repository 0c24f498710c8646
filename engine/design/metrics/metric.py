"""Metric of a project: what goals measure, defined once for the goals of many experiments."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec

from engine.design.goals import GOAL_CONFIG, config_fits_type, missing_event_keys, tracking_of
from engine.design.variants import Name
from engine.errors import InvalidDesignError, Problem
from engine.typed_records import record_of
from engine.validation.parsing import fields_of, unknown_fields
from engine.validation.record_fields import ASSIGNED, assigned, writable
from engine.validation.records import Record, RecordRule, problems_in, validate
from engine.validation.values import choice, moment, optional, text, whole
from engine.vocabulary import GoalType, words

_WHAT = "a metric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of a project, by the same config as a goal.

    `version` is 1 for a new metric, and one more after each change of `goal_type` or `config`.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = (config_fits_type,)

    id: Annotated[str, text(64), ASSIGNED]
    project_id: Annotated[str, text(64), ASSIGNED]
    name: Name
    description: Annotated[str | None, optional(text(5000, least=0, lines=True))] = None
    goal_type: Annotated[GoalType, choice(words(GoalType))]
    config: Annotated[Mapping[str, Any], GOAL_CONFIG] = field(default_factory=dict)
    version: Annotated[int, whole(1, 10**9), ASSIGNED] = 1
    created_at: Annotated[datetime, moment, ASSIGNED]
    updated_at: Annotated[datetime, moment, ASSIGNED]

    def __post_init__(self) -> None:
        validate(self)

    @property
    def tracking(self) -> dict[str, Any]:
        """The config with its defaults filled in: what the metric really measures."""
        return tracking_of(self.goal_type, self.config)


def draft_metric(
    fields: Mapping[str, Any],
    *,
    id: str,  # noqa: A002  # the field it becomes
    project_id: str,
    now: datetime,
) -> Metric:
    """Build a metric from JSON-like input; raises InvalidDesignError with every problem."""
    assigned_fields = {"id": id, "project_id": project_id, "version": 1, "created_at": now}
    return _built(assigned_fields, fields, now)


def revise_metric(metric: Metric, fields: Mapping[str, Any], *, now: datetime) -> Metric:
    """Change the fields that are given; `config` is replaced whole. InvalidDesignError with every problem."""
    revised = _built(msgspec.to_builtins(metric, builtin_types=(datetime,)), fields, now)
    if (revised.goal_type, revised.tracking) == (metric.goal_type, metric.tracking):
        return revised
    return replace(revised, version=metric.version + 1)


def _built(current: Record, fields: Mapping[str, Any], now: datetime) -> Metric:
    given = fields_of(fields, _WHAT)
    sent = {name: given[name] for name in writable(Metric) if name in given}
    record = {**current, **sent, "updated_at": now}
    problems = unknown_fields(given, writable(Metric), assigned(Metric), _WHAT)
    problems += problems_in(record, Metric)
    problems += [
        Problem(problem.field.removeprefix("goals[0]."), problem.message)
        for problem in missing_event_keys([record])
    ]
    if problems:
        raise InvalidDesignError(problems)
    # A copy, because the caller may still change the input.
    return record_of(deepcopy(record), Metric)
