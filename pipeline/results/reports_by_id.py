"""Experiments of the store and their reports, found by their ids alone, for the operator's commands."""

from datetime import datetime

from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.filters import SegmentFilters
from pipeline.results.nights import Nights
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError


def report_of_experiment(catalog: Catalog, nights: Nights, experiment_id: str, *, now: datetime) -> Report:
    """Report an experiment of any project, of all its visitors; NotFoundError."""
    project, experiment = find_experiment(catalog, experiment_id)
    return nights.report(experiment, project, SegmentFilters(), night=None, now=now)


def find_experiment(catalog: Catalog, experiment_id: str) -> tuple[Project, Experiment]:
    """Return an experiment of any project, and its project; NotFoundError."""
    for project in catalog.projects.all():
        for experiment in catalog.experiments.of_project(project.id):
            if experiment.id == experiment_id:
                return project, experiment
    raise NotFoundError("experiment", experiment_id)
