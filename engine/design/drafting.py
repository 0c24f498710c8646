"""Drafting: create and update an experiment from JSON-like input."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec

from engine.design import edit_locks
from engine.design.experiment import LONGEST_SENT_KEY, Experiment
from engine.design.goals import missing_event_keys
from engine.design.lifecycle import UNSTARTED
from engine.design.metrics.metric_goals import FOLLOWING, Metrics, metric_problems, with_metrics
from engine.design.planning.plan_days import LAST_DAY, LONGEST_WAIT
from engine.design.project import Project, draft_project, revise_project
from engine.design.reweighting import with_epoch
from engine.errors import InvalidDesignError, Problem, TransitionError
from engine.typed_records import record_of
from engine.validation.parsing import (
    NewId,
    by_id,
    fields_of,
    first_marked,
    identified,
    merged,
    read_moment,
    unknown_fields,
    unknown_ids,
    without_ids,
)
from engine.validation.record_fields import assigned, writable
from engine.validation.records import Record, problems_in
from engine.validation.values import at, slug

__all__ = [
    "draft_experiment",
    "draft_project",
    "revise_experiment",
    "revise_project",
    "slug_of",
    "wanted_test_key",
]

WRITABLE_FIELDS = writable(Experiment)
# Answers carry these besides the fields of the record.
ASSIGNED_FIELDS = (
    *assigned(Experiment),
    "owner",
    "score_label",
    "score_description",
    "effective_confidence_threshold",
)
_TIMES = ("scheduled_start_at", "scheduled_end_at")
_test_key = slug(LONGEST_SENT_KEY)


def slug_of(name: str, *, otherwise: str = "experiment") -> str:
    """Return a name in lower-case ASCII letters, digits and hyphens; `otherwise` if none are left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))[:LONGEST_SENT_KEY].rstrip("-") or otherwise


def wanted_test_key(fields: object) -> str:
    """Return the test key in the input, or a slug of its name; valid for any input."""
    given = fields if isinstance(fields, Mapping) else {}
    key, name = given.get("test_key"), given.get("name")
    if isinstance(key, str) and not list(_test_key(key)):
        return key
    return slug_of(name if isinstance(name, str) else "")


def draft_experiment(  # noqa: PLR0913  # every keyword is a fact that only the caller has
    fields: Mapping[str, Any],
    *,
    id: str,  # noqa: A002  # the field it becomes
    project: Project,
    now: datetime,
    new_id: NewId,
    test_key: str | None = None,
    metrics: Metrics = MappingProxyType({}),
) -> Experiment:
    """Build a draft from JSON-like input; raises InvalidDesignError with every problem.

    `test_key` is the key to use, unique in the project; by default that of `wanted_test_key`. `metrics` are
    those of the project, by id.
    """
    given = fields_of(fields, "an experiment")
    problems = unknown_fields(given, WRITABLE_FIELDS, ASSIGNED_FIELDS, "an experiment")
    if given.get("test_key") is not None:
        problems += at("test_key", _test_key(given["test_key"]))
    goals = without_ids(given.get("goals", []))
    problems += at("goals", metric_problems(goals, (), metrics))
    record = {
        "url": project.url,
        **_written(given),
        "id": id,
        "project_id": project.id,
        "test_key": test_key or wanted_test_key(given),
        "salt": id,
        "created_at": now,
        "updated_at": now,
        "variants": _variants(without_ids(given.get("variants", [])), (), new_id, are_new=True),
        "goals": _goals(with_metrics(goals, (), metrics), (), new_id),
    }
    return _built(record, problems)


def revise_experiment(  # noqa: PLR0913 - each is a fact of the revision
    experiment: Experiment,
    fields: Mapping[str, Any],
    *,
    now: datetime,
    new_id: NewId,
    metrics: Metrics = MappingProxyType({}),
    is_counted: bool = True,
) -> Experiment:
    """Change the fields that are given, and only those; `metrics` are those of the project, by id.

    `is_counted` unless no visitor of the experiment was counted yet: that locks the rules of its verdict.

    Raises TransitionError (`experiment_running`, `experiment_locked`, or `field_locked` with a problem for
    each field) where the status forbids it, else InvalidDesignError with every problem.
    """
    edit_locks.refuse_if_closed(experiment)
    given = fields_of(fields, "an experiment")
    current = _plain(experiment)
    locked = edit_locks.violations(experiment, current, given, is_counted=is_counted)
    problems = [
        *unknown_fields(given, WRITABLE_FIELDS, ASSIGNED_FIELDS, "an experiment"),
        *_wrong_status(experiment, given),
    ]
    if "goals" in given:
        is_started = experiment.status not in FOLLOWING
        goals = given["goals"], current["goals"], metrics
        problems += at("goals", metric_problems(*goals, is_started=is_started))
        given["goals"] = with_metrics(*goals, is_started=is_started)
    record = {**current, **_written(given), "updated_at": now}
    for part, read in (("variants", _variants), ("goals", _goals)):
        if part in given:
            record[part] = read(given[part], current[part], new_id)
            problems += at(part, unknown_ids(given[part], current[part], part.removesuffix("s")))
    for part in ("stop_conditions", "statistics"):
        if part in given:
            record[part] = merged(current[part], given[part])
    if experiment.status == "scheduled" and record["scheduled_start_at"] is None:
        record["status"] = "draft"
    if locked:
        _refuse(experiment, locked, [*problems, *problems_in(record, Experiment)])
    revised = _in_order_of_creation(_built(record, problems), experiment)
    return with_epoch(experiment, revised, now=now)


def _in_order_of_creation(revised: Experiment, before: Experiment) -> Experiment:
    """Put new variants and goals after the existing ones, whose order assignment follows."""
    ids = [*(variant.id for variant in before.variants), *(goal.id for goal in before.goals)]
    order = {identifier: index for index, identifier in enumerate(ids)}
    return replace(
        revised,
        variants=tuple(sorted(revised.variants, key=lambda variant: order.get(variant.id, len(order)))),
        goals=tuple(sorted(revised.goals, key=lambda goal: order.get(goal.id, len(order)))),
    )


def _refuse(experiment: Experiment, locked: Sequence[Problem], others: Iterable[Problem]) -> NoReturn:
    """Raise TransitionError with the locked fields and all other problems."""
    fields = {problem.field for problem in locked}
    unlocked = [problem for problem in others if problem.field not in fields]
    message = f"'{experiment.name}' is {experiment.status}: some fields can no longer change"
    raise TransitionError("field_locked", message, [*locked, *unlocked])


def _wrong_status(experiment: Experiment, given: Record) -> list[Problem]:
    if given.get("status", experiment.status) == experiment.status:
        return []
    return [Problem("status", "changes through start, pause, resume, complete and archive, not by an update")]


def _plain(experiment: Experiment) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(experiment, builtin_types=(datetime,))
    plain["url_rules"] = list(plain["url_rules"])
    if plain["ramp"] is not None:
        plain["ramp"]["steps"] = list(plain["ramp"]["steps"])
    # Compared with what is sent.
    plain["statistics"]["covariates"] = list(plain["statistics"]["covariates"])
    return plain


def _written(given: Record) -> dict[str, Any]:
    """Return the writable fields, with their times parsed."""
    written = {name: given[name] for name in WRITABLE_FIELDS if name in given}
    return {name: read_moment(value) if name in _TIMES else value for name, value in written.items()}


def _variants(items: object, existing: Sequence[Record], new_id: NewId, *, are_new: bool = False) -> object:
    variants = first_marked(identified(items, existing, new_id, "var"), "is_control")
    if not isinstance(variants, list):
        return variants
    return [_with_changes(variant, existing, new_id, are_new=are_new) for variant in variants]


def _with_changes(variant: object, existing: Sequence[Record], new_id: NewId, *, are_new: bool) -> object:
    if not isinstance(variant, Mapping) or "changes" not in variant:
        return variant
    changes = without_ids(variant["changes"]) if are_new else variant["changes"]
    known = by_id(existing, variant["id"]).get("changes", ())
    return {**variant, "changes": identified(changes, known, new_id, "chg")}


def _goals(items: object, existing: Sequence[Record], new_id: NewId) -> object:
    return first_marked(identified(items, existing, new_id, "goal"), "is_primary")


def _built(record: dict[str, Any], problems: list[Problem]) -> Experiment:
    problems = [*problems, *problems_in(record, Experiment), *missing_event_keys(record["goals"])]
    if problems:
        raise InvalidDesignError(problems)
    # A copy, because the caller may still change the input.
    experiment = record_of(deepcopy(record), Experiment)
    if experiment.status in UNSTARTED and (late := list(_late_outcomes(experiment))):
        raise InvalidDesignError(late)
    return experiment


def _late_outcomes(experiment: Experiment) -> Iterator[Problem]:
    """Yield the primary goal, and guardrails, with outcomes too late for a plan that has a last day."""
    if experiment.statistics.planned_sample is not None:
        return
    for index, goal in enumerate(experiment.goals):
        days = goal.known_after
        if days is None or days <= LONGEST_WAIT or not (goal.is_primary or goal.is_guardrail):
            continue
        keys = ("window", "to_day", "from_day")
        key = next((key for key in keys if goal.config.get(key) is not None), "measure")
        yield Problem(
            f"goals[{index}].config.{key}",
            f"gives outcomes after {days} days, and the plan ends on running day {LAST_DAY}: at most"
            f" {LONGEST_WAIT}, or set statistics.planned_sample, which has no last day",
        )
