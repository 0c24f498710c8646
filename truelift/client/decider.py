"""Decisions about visitors: by the configuration, earlier decisions, and what the service knows."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, TypedDict

from engine.design.experiment import Experiment
from engine.design.holdout import HoldoutPlace, covers, exclusion_by_places
from engine.design.units import unit_id
from pipeline.assignment.targeting_attributes import Visitor
from truelift.client.assigned_variants import AssignedVariants
from truelift.client.configuration import Configuration
from truelift.client.decisions import DecidedVariants, Decision, decision_of
from truelift.client.exchanges import Polling
from truelift.client.holdout_places import UNKNOWN, HoldoutPlaces

# Asks the service for the variants of a visitor, by experiment id; None where it does not answer.
Ask: TypeAlias = Callable[[Visitor], Mapping[str, str] | None]
Assigned: TypeAlias = Mapping[str, str] | AssignedVariants

UNSETTLED: Final = "the weights have changed, and the service has not told the visitor's first variant"


class Visit(TypedDict, total=False):
    """What a decision takes besides an experiment and a visitor."""

    user_id: str | None
    url: str | None
    attributes: Mapping[str, Any] | None
    assigned: Assigned | None
    forced: str | None


class Decider:
    """Decides, and remembers what it has decided; safe to share between threads."""

    def __init__(self, polling: Polling, ask: Ask) -> None:
        """Decide by the configuration that `polling` has read last."""
        self._polling = polling
        self._ask = ask
        self.decided = DecidedVariants()
        self._places = HoldoutPlaces(self.decided)

    def decide(
        self, test_key: str, visitor: Visitor, *, assigned: Assigned | None, forced: str | None
    ) -> Decision:
        """Decide the variant of a visitor in an experiment, by its test key or id."""
        configuration = self._polling.configuration
        if configuration is None:
            return _excluded(test_key, visitor, "the experiments are not known yet")
        experiment = configuration.experiments.get(test_key)
        if experiment is None:
            reason = f"the project has no running, paused or shipped experiment {test_key!r}"
            return _excluded(test_key, visitor, reason)
        if forced is None and (held := self._held_out(configuration, experiment, visitor)):
            return held
        unit = _unit_id(experiment, visitor)
        decision = self._decide(configuration, experiment, visitor, assigned, forced)
        is_known = isinstance(assigned, AssignedVariants) and assigned.is_new_visitor and not visitor.user_id
        if decision.status == "new" and not is_known and configuration.is_unsettled(experiment, unit):
            answers = self._ask(visitor)
            if answers is None or experiment.id not in answers:
                return _excluded(experiment.test_key, visitor, UNSETTLED)
            self.hold(visitor, answers)
            decision = self._decide(configuration, experiment, visitor, answers, None)
        if decision.status != "rollout":
            self.decided.remember(decision)
        return decision

    def holdout_exposures(self, test_key: str, visitor: Visitor) -> Iterator[tuple[str, str]]:
        """Yield the ids of each holdout and variant that the visitor is counted in from now on, once.

        At the first decision about a test or a rollout that the holdout covers, for which its place is asked,
        while there is one for the visitor: in both variants alike.
        """
        configuration = self._polling.configuration
        experiment = None if configuration is None else configuration.experiments.get(test_key)
        if configuration is None or experiment is None:
            return
        for place in self._places_for(configuration, experiment, visitor):
            if place is None or not configuration.meets_any(visitor, place.holdout, now=datetime.now(UTC)):
                continue
            if (variant_id := self._places.take_exposure(place, visitor)) is not None:
                yield place.holdout.id, variant_id

    def _places_for(
        self, configuration: Configuration, experiment: Experiment, visitor: Visitor
    ) -> list[HoldoutPlace | None]:
        """Find the places in the holdouts that cover an experiment; None where the service is to be asked."""
        covering = (one for one in configuration.holdouts if covers(one, experiment.group))
        return [self._places.find(one, visitor) for one in covering]

    def _held_out(
        self, configuration: Configuration, experiment: Experiment, visitor: Visitor
    ) -> Decision | None:
        """Exclude a visitor who is held out, or of whom the service alone knows that, and has not told."""
        places = self._places_for(configuration, experiment, visitor)
        if None in places:
            answers = self._ask(visitor)
            if answers is not None:
                self.hold(visitor, answers)
            places = self._places_for(configuration, experiment, visitor)
        known = [place for place in places if place is not None]
        if held := exclusion_by_places(known, experiment.group):
            return _excluded(experiment.test_key, visitor, held.reason)
        return _excluded(experiment.test_key, visitor, UNKNOWN) if None in places else None

    def hold(self, visitor: Visitor, answers: Mapping[str, str]) -> None:
        """Remember what the service has told of a visitor, as far as nobody else can tell it."""
        configuration = self._polling.configuration
        for holdout in () if configuration is None else configuration.holdouts:
            self._places.hold(holdout, visitor, answers)
        for _, experiment in self._unsettled(visitor):
            if (variant_id := answers.get(experiment.id)) is not None:
                # Weights of experiments that assign other units than visitors never change.
                self.decided.hold(experiment.id, visitor.visitor_id, None, variant_id)

    def has_unknown(self, visitor: Visitor) -> bool:
        """Return whether there is a holdout or an experiment of which only the service knows the variant."""
        configuration = self._polling.configuration
        holdouts = () if configuration is None else configuration.holdouts
        if any(self._places.find(one, visitor) is None for one in holdouts):
            return True
        return any(
            self._decide(configuration, experiment, visitor, None, None).status == "new"
            for configuration, experiment in self._unsettled(visitor)
        )

    def _unsettled(self, visitor: Visitor) -> Iterator[tuple[Configuration, Experiment]]:
        configuration = self._polling.configuration
        if configuration is None:
            return
        for name, experiment in configuration.experiments.items():
            if name == experiment.id and configuration.is_unsettled(
                experiment, _unit_id(experiment, visitor)
            ):
                yield configuration, experiment

    def _decide(
        self,
        configuration: Configuration,
        experiment: Experiment,
        visitor: Visitor,
        assigned: Assigned | None,
        forced: str | None,
    ) -> Decision:
        unit = _unit_id(experiment, visitor)
        own = self.decided.of_visitor(experiment.id, unit, visitor.visitor_id)
        remembered = own or self.decided.of_unit(experiment.id, unit)
        stored = _stored(assigned, experiment, unit)
        if remembered is not None:
            stored.setdefault(experiment.id, remembered.variant_id)
        decided = configuration.decide(
            experiment,
            visitor,
            now=datetime.now(UTC),
            stored=stored,
            inherited=() if own or remembered is None else (experiment.id,),
            forced={} if forced is None else {experiment.id: forced},
        )
        if decided is None:
            return _excluded(experiment.test_key, visitor, f"the experiment is {experiment.status}")
        return decision_of(decided, visitor.visitor_id, unit)


def _unit_id(experiment: Experiment, visitor: Visitor) -> str | None:
    return unit_id(
        experiment.unit,
        visitor_id=visitor.visitor_id,
        user_id=visitor.user_id,
        attributes=visitor.attributes,
    )


def _stored(assigned: Assigned | None, experiment: Experiment, unit: str | None) -> dict[str, str]:
    if isinstance(assigned, AssignedVariants):
        kept = assigned.variant_of(experiment, unit)
        return {} if kept is None else {experiment.id: kept}
    return dict(assigned or {})


def _excluded(test_key: str, visitor: Visitor, reason: str) -> Decision:
    return Decision(test_key=test_key, visitor_id=visitor.visitor_id, status="excluded", reason=reason)
