"""Copies of experiments: drafts with the same design, and ids, a test key and a salt of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, ClassVar

from engine.design.drafting import WRITABLE_FIELDS
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.metrics.metric_goals import OWN_KEYS, Metrics
from engine.design.variants import Variant
from engine.validation.input_records import read_record
from engine.validation.parsing import NewId
from engine.validation.records import RecordRule, validate
from engine.validation.values import optional, text

_LONGEST_NAME = 255
# Times that have passed, or soon will have.
_ITS_OWN = {"scheduled_start_at": None, "scheduled_end_at": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRequest:
    """A copy of an experiment, as it is asked for."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    name: Annotated[
        str | None,
        optional(text(_LONGEST_NAME)).described(
            "By default `Copy of` and the name.", example="One-page checkout, again"
        ),
    ] = None

    def __post_init__(self) -> None:
        validate(self)


def name_of_copy(experiment: Experiment, fields: Mapping[str, Any]) -> str:
    """Return the name that a request asks for, or `Copy of …`; InvalidDesignError."""
    asked = read_record(fields, CopyRequest, "a copy").name
    return asked or f"Copy of {experiment.name}"[:_LONGEST_NAME].rstrip()


def copy_experiment(  # noqa: PLR0913 - every keyword is a fact that only the caller has
    experiment: Experiment,
    *,
    id: str,  # noqa: A002 - the field it becomes
    name: str,
    test_key: str,
    now: datetime,
    new_id: NewId,
    metrics: Metrics,
) -> Experiment:
    """Return a draft of the same design, in whatever status the experiment is.

    Goals follow the newest version of their metric, and are their own where it was deleted. A ramp begins
    anew, with the traffic of its first step.
    """
    design = {field: getattr(experiment, field) for field in WRITABLE_FIELDS}
    if experiment.ramp is not None:
        design["traffic_allocation"] = experiment.ramp.steps[0].percent
    given = {"id": id, "salt": id, "name": name, "test_key": test_key, "created_at": now, "updated_at": now}
    return Experiment(
        **{
            **design,
            **_ITS_OWN,
            **given,
            "project_id": experiment.project_id,
            "variants": tuple(_copied_variant(one, new_id) for one in experiment.variants),
            "goals": tuple(_copied_goal(one, new_id, metrics) for one in experiment.goals),
        }
    )


def _copied_variant(variant: Variant, new_id: NewId) -> Variant:
    changes = tuple(replace(change, id=new_id("chg")) for change in variant.changes)
    return replace(variant, id=new_id("var"), changes=changes)


def _copied_goal(goal: Goal, new_id: NewId, metrics: Metrics) -> Goal:
    metric = metrics.get(goal.metric_id or "")
    if metric is None:
        return replace(goal, id=new_id("goal"), metric_id=None, metric_version=None)
    own = {key: goal.config[key] for key in OWN_KEYS if key in goal.config}
    return replace(
        goal,
        id=new_id("goal"),
        goal_type=metric.goal_type,
        config={**metric.config, **own},
        metric_version=metric.version,
    )
