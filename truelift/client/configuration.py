"""Configuration of a project: its experiments as the service last gave them, and decisions by them."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from engine.design.assignment import unit_hash
from engine.design.epoch_thresholds import unsettled_ranges
from engine.design.exclusion.group_slots import HashRange
from engine.design.experiment import Experiment
from engine.design.targeting.evaluation import Targeting, compile_targeting
from engine.errors import InvalidDesignError
from engine.typed_records import record_of
from pipeline.assignment.decide import AssignmentRequest, VariantDecision, decide, meets_any
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes

logger: Final = logging.getLogger(__name__)


class UnreadableConfigurationError(ValueError):
    """An answer that is no configuration of a project."""


class _Sent(msgspec.Struct):
    """The part of `GET /api/v1/sdk/config` that a server needs."""

    project_id: str
    time_zone: str
    settings: dict[str, Any]
    experiments: list[dict[str, Any]]
    rollouts: list[dict[str, Any]] = []
    holdout: dict[str, Any] | None = None
    group_holdouts: list[dict[str, Any]] = []


_decode: Final = msgspec.json.Decoder(_Sent).decode


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """The live experiments and the rollouts of a project, by id and by test key, and holdouts in force."""

    project_id: str
    time_zone: str
    settings: Mapping[str, Any]
    experiments: Mapping[str, Experiment]
    holdouts: tuple[Experiment, ...] = ()
    _targeting: dict[str, Targeting] = field(default_factory=dict, init=False, repr=False)
    _unsettled: dict[str, Sequence[HashRange]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_json(cls, content: bytes) -> "Configuration":
        """Read the answer of the service to a secret key; UnreadableConfigurationError.

        An experiment that this version cannot read is left out, with a warning.
        """
        try:
            sent = _decode(content)
        except msgspec.MsgspecError as error:
            raise UnreadableConfigurationError(f"the configuration cannot be read: {error}") from error
        experiments = list(_readable([*sent.experiments, *sent.rollouts]))
        by_name = {one.test_key: one for one in experiments} | {one.id: one for one in experiments}
        of_project = [] if sent.holdout is None else [sent.holdout]
        holdouts = tuple(_readable([*of_project, *sent.group_holdouts]))
        return cls(sent.project_id, sent.time_zone, sent.settings, by_name, holdouts)

    def decide(  # noqa: PLR0913  # the rest is said by name
        self,
        experiment: Experiment,
        visitor: Visitor,
        *,
        now: datetime,
        stored: Mapping[str, str],
        inherited: Collection[str] = (),
        forced: Mapping[str, str],
    ) -> VariantDecision | None:
        """Decide the variant of a visitor, as the service does; None for an experiment that has ended.

        `stored`, `inherited` and `forced` are those of `pipeline.assignment.decide`. InvalidAttributesError.
        """
        attributes = targeting_attributes(visitor, timezone=self.time_zone, now=now)
        request = AssignmentRequest(visitor=visitor, attributes=attributes, forced=forced)
        decisions = decide(request, [experiment], self._targeting_of, stored, inherited)
        return decisions[0] if decisions else None

    def meets_any(self, visitor: Visitor, holdout: Experiment, *, now: datetime) -> bool:
        """Return whether a running test or a rollout that a holdout covers is for the visitor."""
        attributes = targeting_attributes(visitor, timezone=self.time_zone, now=now)
        request = AssignmentRequest(visitor=visitor, attributes=attributes, forced={})
        by_id = (one for name, one in self.experiments.items() if name == one.id)
        return meets_any(request, by_id, self._targeting_of, holdout)

    def is_unsettled(self, experiment: Experiment, unit_id: str | None) -> bool:
        """Return whether the variant of a unit depends on the weights of the time when it came first."""
        if unit_id is None or not experiment.weight_epochs:
            return False
        ranges = self._unsettled.get(experiment.id)
        if ranges is None:
            ranges = self._unsettled.setdefault(experiment.id, unsettled_ranges(experiment))
        own = unit_hash(experiment, "v", unit_id)
        return any(first <= own < beyond for first, beyond in ranges)

    def _targeting_of(self, experiment: Experiment) -> Targeting:
        known = self._targeting.get(experiment.id)
        return known or self._targeting.setdefault(
            experiment.id, compile_targeting(experiment.targeting_rules)
        )


def _readable(sent: Iterable[Mapping[str, Any]]) -> Iterable[Experiment]:
    for one in sent:
        definition = one.get("definition")
        if definition is None:
            raise UnreadableConfigurationError(
                "the configuration has no definitions of experiments; the key is no secret key, or the "
                "service is older than this client"
            )
        try:
            yield record_of(definition, Experiment)
        except (msgspec.ValidationError, InvalidDesignError) as error:
            logger.warning("experiment %s is left out, it cannot be read: %s", one.get("id"), error)
