"""Looks that are due, recorded by a job, so that verdicts do not depend on reads."""

from datetime import datetime

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.running_time import running_days
from pipeline.results.recorded_analysis import analyze_and_record
from pipeline.results.results import Results
from pipeline.rollup.run import Rollup
from pipeline.store.catalog.recorded_looks import RecordedLooks


class DueLooks:
    """Recorder of due looks, which analyzes an experiment again only after something has changed."""

    def __init__(self, results: Results, rollup: Rollup, looks: RecordedLooks) -> None:
        self._results = results
        self._publications = rollup.publications
        self._looks = looks
        # By experiment, the state in which it was analyzed.
        self._looked_at: dict[str, tuple[object, ...]] = {}

    def record(self, experiment: Experiment, project: Project, *, now: datetime) -> None:
        """Record the look that is due, if any, by the events counted so far.

        An experiment is analyzed again after a new running day began, or its results or itself changed.
        Where not every event is counted in time, the look is that of the time up to which they are.
        """
        results, publications = self._results, self._publications
        erasures = results.verdicts.erasures
        results.bring_up_to_date(experiment, project)
        changes = publications.changes(experiment.id)
        published = publications.find(experiment.id)
        if published is None:
            return
        day = int(running_days(experiment, until=now))
        missing = results.missing_sources(experiment)
        state = (experiment.status, experiment.updated_at, published.fingerprint, changes, day, missing)
        if self._looked_at.get(experiment.id) == state:
            return
        evidence = results.evidence(experiment, project, now=now)
        at, currency = evidence.as_of or now, project.revenue_currency
        report = analyze_and_record(experiment, evidence, self._looks, now=at, currency=currency)
        results.verdicts.keep(report, now=now, erasures=erasures)
        self._looked_at[experiment.id] = state
