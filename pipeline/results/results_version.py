"""Version of an experiment's results: everything that its reports depend on, with the time to the minute."""

from dataclasses import dataclass, replace
from datetime import date

from engine.design.experiment import Experiment
from engine.design.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsVersion:
    """Everything that reports of an experiment depend on; between equal ones only seconds have passed.

    `newest_seq` is the number of the project's newest acknowledged event, 0 where later ones do not count;
    `publication` and `looks` differ after each replacement of the published results and each recorded look.
    `missing_sources` are those whose rows are to be imported and counted first.
    `running_days` are whole, as those at which plans are reached; `is_over` where an end is final.
    `last_days` are those up to which outcomes are known, by the goal's position, and `minute` is since 1970.
    """

    experiment: Experiment
    project: Project
    newest_seq: int
    publication: int
    looks: int
    local_day: date
    running_days: int
    is_over: bool
    last_days: tuple[tuple[int, int], ...] = ()
    minute: int = 0
    missing_sources: tuple[str, ...] = ()

    @property
    def of_evidence(self) -> "ResultsVersion":
        """Everything that the evidence depends on: no looks, and no time but days."""
        return replace(self, looks=0, running_days=0, minute=0)

    def of_analysis(self, changes: int) -> "ResultsVersion":
        """Everything that an analysis depends on, and no time but days.

        `changes` is the number of the published results, which differs only where more than a record does.
        """
        return replace(self, newest_seq=0, publication=changes, minute=0)
