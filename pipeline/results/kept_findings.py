"""Findings of ramps, kept until something that they depend on has changed."""

from collections.abc import Collection, Sequence
from datetime import datetime

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.ramp_harm import Finding
from pipeline.results.results import Results
from pipeline.rollup.run import Rollup
from pipeline.store.catalog.recorded_looks import RecordedLooks


class KeptFindings:
    """Findings by experiment, which is analyzed again only after something has changed."""

    def __init__(self, results: Results, rollup: Rollup, looks: RecordedLooks) -> None:
        self._results = results
        self._publications = rollup.publications
        self._looks = looks
        # By experiment, the state in which it was analyzed, and what was found.
        self._kept: dict[str, tuple[object, Sequence[Finding]]] = {}

    def of(
        self, experiment: Experiment, project: Project, *, now: datetime
    ) -> tuple[Evidence, Sequence[Finding]]:
        """Return the evidence of an experiment, and what its ramp finds in it.

        It is analyzed again after a new day began, or its results, its recorded looks or itself changed.
        """
        results = self._results
        results.bring_up_to_date(experiment, project)
        # Read before the evidence, so that a change in between is analyzed the next time.
        changes = self._publications.changes(experiment.id)
        version = results.version(experiment, project, now=now).of_analysis(changes)
        evidence = results.evidence(experiment, project, now=now)
        state = (version, evidence.missing_sources)
        kept = self._kept.get(experiment.id)
        if kept is None or kept[0] != state:
            kept = self._kept[experiment.id] = state, self._find(experiment, evidence, now)
        return evidence, kept[1]

    def forget_others(self, experiment_ids: Collection[str]) -> None:
        """Forget the findings of all experiments but these."""
        self._kept = {one: kept for one, kept in self._kept.items() if one in experiment_ids}

    def _find(self, experiment: Experiment, evidence: Evidence, now: datetime) -> Sequence[Finding]:
        from engine.analysis.automation.ramp_findings import (  # noqa: PLC0415 - slow, and not needed at a start
            ramp_findings,
        )

        return ramp_findings(experiment, evidence, now=now, looks=self._looks.of(experiment.id))
