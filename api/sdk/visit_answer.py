"""Answer to a visit as JSON: what no visitor changes is encoded once for each version of a project."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec
from pydantic import TypeAdapter

from api.schemas.sdk import ShownChange, ShownGoal
from engine.design.experiment import Experiment
from engine.design.holdout import HoldoutPlace
from engine.design.pages import covers_page
from pipeline.assignment.decide import DecisionStatus, VariantDecision
from pipeline.assignment.project_cache import CachedProject

_GOALS: Final = TypeAdapter(list[ShownGoal])
_CHANGES: Final = TypeAdapter(list[ShownChange])
_encode: Final = msgspec.json.Encoder().encode
_NO_CHANGES: Final = msgspec.Raw(b"[]")
_NO_PAYLOAD: Final = msgspec.Raw(b"null")


class _Assignment(msgspec.Struct):
    """The schema `ShownExperiment`, fast to encode."""

    experiment_id: str
    test_key: str
    variant_id: str | None
    variant_name: str | None
    status: DecisionStatus
    reason: str
    covers_page: bool
    changes: msgspec.Raw
    payload: msgspec.Raw
    redirect_url: str | None


class _Rollout(_Assignment, kw_only=True):
    """The schema `ShownRollout`, fast to encode."""

    rollout_id: str


class _Holdout(msgspec.Struct):
    """The schema `ShownHoldout`, fast to encode."""

    holdout_id: str
    variant_id: str | None
    is_held_out: bool


class _GroupHoldout(_Holdout, kw_only=True):
    """The schema `ShownGroupHoldout`, fast to encode."""

    group_id: str


class _Answer(msgspec.Struct):
    """The schema `VisitAnswer`, fast to encode."""

    visitor_id: str
    assignments: list[_Assignment]
    rollouts: list[_Rollout]
    goals: msgspec.Raw
    holdout: _Holdout | msgspec.UnsetType = msgspec.UNSET
    group_holdouts: list[_GroupHoldout] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class _Parts:
    """JSON of an experiment: its goals without brackets, and the changes and payload of each variant."""

    goals: bytes
    changes: Mapping[str, msgspec.Raw]
    payloads: Mapping[str, msgspec.Raw]

    @classmethod
    def of(cls, experiment: Experiment) -> "_Parts":
        goals = [ShownGoal(experiment_id=experiment.id, **asdict(goal)) for goal in experiment.goals]
        changes = {
            variant.id: [ShownChange(**asdict(change)) for change in variant.changes]
            for variant in experiment.variants
        }
        return cls(
            _GOALS.dump_json(goals)[1:-1],
            {variant_id: msgspec.Raw(_CHANGES.dump_json(shown)) for variant_id, shown in changes.items()},
            {variant.id: msgspec.Raw(_encode(variant.payload)) for variant in experiment.variants},
        )


# By experiment id, as long as the version of its project is in use.
_parts_of: Final[WeakKeyDictionary[CachedProject, dict[str, _Parts]]] = WeakKeyDictionary()


def encode_answer(
    cached: CachedProject,
    visitor_id: str,
    decisions: Sequence[VariantDecision],
    url: str | None,
    places: Sequence[HoldoutPlace] = (),
) -> bytes:
    """Encode the assignments of a visitor on a page in a project's experiments, with goals and rollouts.

    `places` are those in the holdouts in force.
    """
    known = _parts_of.setdefault(cached, {})
    assignments: list[_Assignment] = []
    rollouts: list[_Rollout] = []
    goals: list[bytes] = []
    for decision in decisions:
        experiment = decision.experiment
        parts = known.get(experiment.id) or known.setdefault(experiment.id, _Parts.of(experiment))
        if experiment.rollout is not None:
            rollouts.append(_Rollout(**_fields(decision, parts, url), rollout_id=experiment.rollout.id))
            continue
        if parts.goals:
            goals.append(parts.goals)
        assignments.append(_Assignment(**_fields(decision, parts, url)))
    answer = _Answer(visitor_id, assignments, rollouts, msgspec.Raw(b"[" + b",".join(goals) + b"]"))
    _add_places(answer, places)
    return _encode(answer)


def _add_places(answer: _Answer, places: Sequence[HoldoutPlace]) -> None:
    of_groups: list[_GroupHoldout] = []
    for place in places:
        group_id, variant_id = place.holdout.held_group_id, place.variant.id if place.variant else None
        if group_id is None:
            answer.holdout = _Holdout(place.holdout.id, variant_id, place.is_held)
        else:
            found = _GroupHoldout(place.holdout.id, variant_id, place.is_held, group_id=group_id)
            of_groups.append(found)
    if of_groups:
        answer.group_holdouts = of_groups


def _fields(decision: VariantDecision, parts: _Parts, url: str | None) -> dict[str, Any]:
    experiment, variant = decision.experiment, decision.variant
    return {
        "experiment_id": experiment.id,
        "test_key": experiment.test_key,
        "variant_id": variant.id if variant else None,
        "variant_name": variant.name if variant else None,
        "status": decision.status,
        "reason": decision.reason,
        "covers_page": url is None or covers_page(experiment, url),
        "changes": parts.changes[variant.id] if variant else _NO_CHANGES,
        "payload": parts.payloads[variant.id] if variant else _NO_PAYLOAD,
        "redirect_url": decision.redirect_url,
    }
