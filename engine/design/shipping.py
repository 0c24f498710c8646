"""Shipping: the decision about an experiment, which ends it where it has not ended, and its rollout."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.design.conclusion import Conclusion, OpenRisk, Rollout, ShipRequest
from engine.design.exclusion.group_slots import released
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN, complete
from engine.errors import InvalidDesignError, Problem, TransitionError
from engine.vocabulary import Status

DECIDABLE: tuple[Status, ...] = (*OPEN, "completed")


@dataclass(frozen=True, slots=True)
class Decider:
    """The member who decides, by id and name, and the id that a rollout of the decision gets."""

    member_id: str
    name: str
    rollout_id: str


def ship(
    experiment: Experiment, request: ShipRequest, risks: Sequence[OpenRisk], *, by: Decider, now: datetime
) -> Experiment:
    """Decide about an experiment, and complete it where it runs or is paused.

    `risks` are those that are open now. Raises TransitionError `already_decided`, `invalid_transition`, or
    `open_risks` with each that was not accepted; InvalidDesignError for a variant that cannot be shipped.
    """
    require_decidable(experiment)
    require_shippable(experiment, request.variant_id)
    if request.decision == "ship":
        _require_accepted(experiment, risks, request.accept_risks)
    ended = experiment if experiment.status == "completed" else complete(experiment, now=now)
    conclusion = Conclusion(
        decision=request.decision,
        variant_id=request.variant_id,
        note=request.note,
        accepted_risks=tuple(risks) if request.decision == "ship" else (),
        decided_at=now,
        decided_by=by.member_id,
        decided_by_name=by.name,
    )
    rollout = None
    if request.variant_id is not None and request.rollout:
        rollout = Rollout(id=by.rollout_id, variant_id=request.variant_id, started_at=now)
    # A rollout keeps the slots that the test had when it was decided about.
    slots = ended.group_slots if rollout is None else experiment.group_slots
    return replace(ended, conclusion=conclusion, rollout=rollout, group_slots=slots, updated_at=now)


def end_rollout(experiment: Experiment, *, now: datetime) -> Experiment:
    """End the rollout: everybody sees the original. Raises TransitionError `no_rollout` where none lasts."""
    rollout = experiment.rollout
    if rollout is None or rollout.ended_at is not None:
        since = (
            "" if rollout is None or rollout.ended_at is None else f" since {rollout.ended_at.isoformat()}"
        )
        raise TransitionError("no_rollout", f"'{experiment.name}' has no rollout{since}")
    at = max(now, rollout.started_at)
    ended = replace(rollout, ended_at=at)
    return replace(
        experiment, rollout=ended, group_slots=released(experiment.group_slots, now=at), updated_at=now
    )


def require_decidable(experiment: Experiment) -> None:
    """Raise TransitionError `already_decided` or `invalid_transition` where no decision can be made."""
    name, status = experiment.name, experiment.status
    if experiment.conclusion is not None:
        decided_at = experiment.conclusion.decided_at.isoformat()
        raise TransitionError("already_decided", f"'{name}' was decided about at {decided_at}")
    if status not in DECIDABLE:
        message = f"'{name}' is {status} and cannot be decided about; it must be {' or '.join(DECIDABLE)}"
        raise TransitionError("invalid_transition", message)


def require_shippable(experiment: Experiment, variant_id: str | None) -> None:
    """Raise InvalidDesignError for an unknown variant, and for the control."""
    if variant_id is None:
        return
    variant = next((one for one in experiment.variants if one.id == variant_id), None)
    if variant is None:
        raise InvalidDesignError([Problem("variant_id", f"no variant has the id {variant_id!r}")])
    if variant.is_control:
        message = "is that of the control: to go on with it, the decision is keep_control"
        raise InvalidDesignError([Problem("variant_id", message)])


def _require_accepted(experiment: Experiment, risks: Sequence[OpenRisk], accepted: Sequence[str]) -> None:
    missing = [Problem(one.risk, one.message) for one in risks if one.risk not in accepted]
    if missing:
        message = f"'{experiment.name}' has open risks; `accept_risks` has to name each of them to ship"
        raise TransitionError("open_risks", message, missing)
