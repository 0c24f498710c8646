"""Service record: facts of an experiment in a service that its rows do not contain."""

from dataclasses import asdict, dataclass, replace
from datetime import datetime

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.design.pauses import Pause
from engine.design.ramp import Ramp, TakenStep
from engine.vocabulary import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsRecord:
    """Units, such as accounts, that the service compares, and what it set aside, as in `ClusterEvidence`.

    `of_several_variants` is the number of units seen in several variants.
    """

    by: str
    noun: str
    of_several_variants: int
    visitors_of_several: int
    in_several: int
    in_none: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRecord:
    """Facts of an experiment that a service ran; it is judged as at `now`.

    Running days are those from `started_at` to `completed_at` or `now`, without `pauses`; plans count
    the steps of a `ramp` that were taken, and those to come.
    `several_variants`, `identity_conflicts` and `bots` are the visitors excluded, who have no row. `units`
    are those that are compared; None where visitors are.
    """

    now: datetime
    status: Status
    started_at: datetime
    completed_at: datetime | None = None
    pauses: tuple[Pause, ...] = ()
    ramp: Ramp | None = None
    ramp_steps: tuple[TakenStep, ...] = ()
    several_variants: int = 0
    identity_conflicts: int = 0
    bots: int = 0
    units: UnitsRecord | None = None

    def complete_experiment(self, experiment: Experiment) -> Experiment:
        """Set the status and the times of an experiment built from rows."""
        return replace(
            experiment,
            created_at=self.started_at,
            updated_at=self.now,
            status=self.status,
            started_at=self.started_at,
            completed_at=self.completed_at,
            pauses=self.pauses,
            ramp=self.ramp,
            ramp_steps=self.ramp_steps,
        )

    def complete_evidence(self, evidence: Evidence) -> Evidence:
        """Add the visitors excluded and the time up to which events are counted."""
        found = replace(
            evidence,
            as_of=self.now,
            several_variants=self.several_variants,
            identity_conflicts=self.identity_conflicts,
            bots=self.bots,
        )
        if self.units is None or found.clusters is None:
            return found
        units = asdict(self.units)
        several = units.pop("of_several_variants")
        return replace(
            found, several_variants=several, identity_conflicts=0, clusters=replace(found.clusters, **units)
        )
