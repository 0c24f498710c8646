"""Variant decisions: the variant of a visitor in each experiment of a project, with the reason."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from engine.design.assignment import assign
from engine.design.experiment import Experiment
from engine.design.holdout import HoldoutPlace, covers, exclusion_by_places
from engine.design.pages import covers_page, redirect_url
from engine.design.targeting.evaluation import Targeting
from engine.design.units import unit_attribute, unit_id
from engine.design.variants import Variant
from pipeline.assignment.targeting_attributes import Visitor

DecisionStatus = Literal["new", "existing", "forced", "excluded", "rollout"]
SERVED: Final = frozenset({"running", "paused"})
# A preview may force a variant before the start of the experiment, but not after its end.
_CAN_BE_FORCED: Final = frozenset({"draft", "scheduled", "running", "paused"})


@dataclass(frozen=True, slots=True)
class VariantDecision:
    """The variant of a visitor in one experiment; None where the visitor takes no part."""

    experiment: Experiment
    variant: Variant | None
    status: DecisionStatus
    reason: str
    redirect_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRequest:
    """A visitor, the attributes that targeting evaluates, and the variants that a preview forces.

    `forced` maps experiment id or test key to a variant's id or name.
    """

    visitor: Visitor
    attributes: Mapping[str, Any]
    forced: Mapping[str, str]
    # Whether experiments that are not served yet must be named by their ids: test keys can be guessed.
    hides_drafts: bool = False

    def unit_id(self, experiment: Experiment) -> str | None:
        """Return the id that the visitor is assigned by in an experiment; None without one."""
        visitor = self.visitor
        return unit_id(
            experiment.unit,
            visitor_id=visitor.visitor_id,
            user_id=visitor.user_id,
            attributes=visitor.attributes,
        )


def decide(  # noqa: PLR0913  # the rest is said by name
    request: AssignmentRequest,
    experiments: Iterable[Experiment],
    targeting_of: Callable[[Experiment], Targeting],
    stored: Mapping[str, str],
    inherited: Collection[str] = (),
    *,
    places: Sequence[HoldoutPlace] = (),
) -> list[VariantDecision]:
    """Decide the variant in every experiment that is served, rolled out, or has a forced variant.

    `targeting_of` returns the compiled rules of an experiment. `stored` maps experiment id to the
    variant id of the first assignment of the visitor or its unit, which stays whatever has changed since,
    attributes and page included. It does not in `inherited` experiments for another visitor of an account.
    `places` are those of the visitor in the holdouts in force: who is held out by one gets forced variants
    only, of what it covers.
    """
    decisions: list[VariantDecision] = []
    for experiment in experiments:
        forced = _forced(request, experiment)
        is_shown = experiment.shipped is not None or (forced is None and experiment.status in SERVED)
        if is_shown and (held := exclusion_by_places(places, experiment.group)):
            decisions.append(VariantDecision(experiment, None, "excluded", held.reason, None))
        elif experiment.shipped is not None:
            decisions.append(_roll_out(request, experiment, experiment.shipped, targeting_of(experiment)))
        elif forced is not None:
            decisions.append(
                _decision(request, experiment, forced, "forced", "the request asks for this variant")
            )
        elif experiment.status in SERVED:
            targeting = targeting_of(experiment)
            joins = experiment.id in inherited and unit_attribute(experiment.unit) is not None
            decisions.append(_assign(request, experiment, targeting, stored.get(experiment.id), joins=joins))
    return decisions


def meets_any(
    request: AssignmentRequest,
    experiments: Iterable[Experiment],
    targeting_of: Callable[[Experiment], Targeting],
    holdout: Experiment,
) -> bool:
    """Return whether a running test or a rollout that a holdout covers is for the visitor.

    By its page, unit and targeting: neither the traffic allocation nor what the visitor was given before
    makes a difference, so that both variants of a holdout count visitors alike.
    """
    return any(
        covers(holdout, one.group)
        and (one.shipped is not None or (one.status == "running" and request.unit_id(one) is not None))
        and _exclusion_reason(request, one, targeting_of(one)) is None
        for one in experiments
    )


def _forced(request: AssignmentRequest, experiment: Experiment) -> Variant | None:
    variant = request.forced.get(experiment.id)
    if variant is None and (experiment.status in SERVED or not request.hides_drafts):
        variant = request.forced.get(experiment.test_key)
    if variant is None or experiment.status not in _CAN_BE_FORCED:
        return None
    return next((v for v in experiment.variants if variant in {v.id, v.name}), None)


def _assign(
    request: AssignmentRequest,
    experiment: Experiment,
    targeting: Targeting,
    stored_variant_id: str | None,
    *,
    joins: bool,
) -> VariantDecision:
    assignment = assign(experiment, request.unit_id(experiment), stored_variant_id=stored_variant_id)
    is_new = assignment.status == "new" or (assignment.status == "existing" and joins)
    if is_new and (exclusion := _exclusion_reason(request, experiment, targeting)):
        return VariantDecision(experiment, None, "excluded", exclusion, None)
    return _decision(request, experiment, assignment.variant, assignment.status, assignment.reason)


def _roll_out(
    request: AssignmentRequest, experiment: Experiment, shipped: Variant, targeting: Targeting
) -> VariantDecision:
    """Give the shipped variant to everybody who is eligible, whatever they had in the test."""
    if exclusion := _exclusion_reason(request, experiment, targeting):
        return VariantDecision(experiment, None, "excluded", exclusion, None)
    return _decision(request, experiment, shipped, "rollout", "everybody gets the shipped variant")


def _exclusion_reason(request: AssignmentRequest, experiment: Experiment, targeting: Targeting) -> str | None:
    """Return why a visitor without an assignment is excluded; None where eligible."""
    if request.visitor.url is not None and not covers_page(experiment, request.visitor.url):
        return "the experiment is not on this page"
    eligibility = targeting(request.attributes)
    return None if eligibility.eligible else eligibility.reason


def _decision(
    request: AssignmentRequest,
    experiment: Experiment,
    variant: Variant | None,
    status: DecisionStatus,
    reason: str,
) -> VariantDecision:
    target = (
        None if variant is None else redirect_url(experiment, variant, request.visitor.url or experiment.url)
    )
    return VariantDecision(experiment, variant, status, reason, target)
