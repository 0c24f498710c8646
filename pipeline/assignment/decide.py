"""What a visitor is shown in each experiment of a project, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from engine.design.assignment import assign
from engine.design.experiment import Experiment
from engine.design.pages import covers_page, redirect_url
from engine.design.targeting.evaluation import evaluate
from engine.design.variants import Variant
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import segments_of
from pipeline.events.hashing import hash64
from pipeline.store.warehouse.events import EventRow

ShownStatus = Literal["new", "existing", "forced", "excluded"]
SERVED: Final = frozenset({"running", "paused"})
# A preview may ask for a variant before the experiment starts, and not after it has ended.
_CAN_BE_FORCED: Final = frozenset({"draft", "scheduled", "running", "paused"})


@dataclass(frozen=True, slots=True)
class VariantDecision:
    """One experiment for one visitor; no variant where the visitor takes no part."""

    experiment: Experiment
    variant: Variant | None
    status: ShownStatus
    reason: str
    redirect_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRequest:
    """A visitor, what targeting may know, and the variants that a preview asks for.

    `forced` is keyed by experiment id or test key and names a variant by id or name.
    """

    visitor: Visitor
    attributes: Mapping[str, Any]
    forced: Mapping[str, str]


def decide(
    visit: AssignmentRequest, experiments: Iterable[Experiment], stored: Mapping[str, str]
) -> list[VariantDecision]:
    """Decide every served experiment, and every other one that the visit forces a variant of.

    `stored` holds the variant id of the visitor's first assignment by experiment id: it wins over whatever
    has changed since, the visitor's own attributes and the page included.
    """
    decided: list[VariantDecision] = []
    for experiment in experiments:
        forced = _forced(visit, experiment)
        if forced is not None:
            decided.append(_shown(visit, experiment, forced, "forced", "the request asks for this variant"))
        elif experiment.status in SERVED:
            decided.append(_assigned(visit, experiment, stored.get(experiment.id)))
    return decided


def assignment_rows(visitor: Visitor, shown: Iterable[VariantDecision], received_us: int) -> list[EventRow]:
    """The events that make new assignments stay; a visitor counts at the first exposure, and not here.

    A bot's are not kept: the hash gives it the same variant again.
    """
    segments = segments_of(visitor.attributes, visitor.url, visitor.client)
    if segments["is_bot"]:
        return []
    rows: list[EventRow] = []
    for one in shown:
        if one.status != "new" or one.variant is None:
            continue
        # Two requests at once for one visitor decide the same, and make one event.
        event_id = f"assignment:{one.experiment.id}:{visitor.visitor_id}"
        rows.append(
            EventRow(
                received_at=received_us,
                occurred_at=received_us,
                event_id=event_id,
                event_key=hash64(event_id),
                type="assignment",
                visitor_id=visitor.visitor_id,
                visitor_key=hash64(visitor.visitor_id),
                user_id=visitor.user_id,
                user_key=None if visitor.user_id is None else hash64(visitor.user_id),
                experiment_id=one.experiment.id,
                variant_id=one.variant.id,
                url=visitor.url,
                visitor_identity="anonymous" if visitor.user_id is None else "identified",
                **segments,
            )
        )
    return rows


def _forced(visit: AssignmentRequest, experiment: Experiment) -> Variant | None:
    wanted = visit.forced.get(experiment.id) or visit.forced.get(experiment.test_key)
    if wanted is None or experiment.status not in _CAN_BE_FORCED:
        return None
    return next((v for v in experiment.variants if wanted in {v.id, v.name}), None)


def _assigned(
    visit: AssignmentRequest, experiment: Experiment, stored_variant_id: str | None
) -> VariantDecision:
    assignment = assign(experiment, visit.visitor.visitor_id, stored_variant_id=stored_variant_id)
    if assignment.status == "new" and (obstacle := _obstacle(visit, experiment)):
        return VariantDecision(experiment, None, "excluded", obstacle, None)
    return _shown(visit, experiment, assignment.variant, assignment.status, assignment.reason)


def _obstacle(visit: AssignmentRequest, experiment: Experiment) -> str | None:
    """Say what keeps a visitor out who would be assigned now; None where nothing does."""
    if visit.visitor.url is not None and not covers_page(experiment, visit.visitor.url):
        return "the experiment is not on this page"
    eligibility = evaluate(experiment.targeting_rules, visit.attributes)
    return None if eligibility.eligible else eligibility.reason


def _shown(
    visit: AssignmentRequest,
    experiment: Experiment,
    variant: Variant | None,
    status: ShownStatus,
    reason: str,
) -> VariantDecision:
    target = (
        None if variant is None else redirect_url(experiment, variant, visit.visitor.url or experiment.url)
    )
    return VariantDecision(experiment, variant, status, reason, target)
