"""Experiments of the store and their reports, found by their ids alone, for the operator's commands."""

from datetime import datetime

from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.results import Results
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError


def report_of_experiment(catalog: Catalog, results: Results, experiment_id: str, *, now: datetime) -> Report:
    """Report an experiment of any project, of all its visitors; NotFoundError."""
    project, experiment = find_experiment(catalog, experiment_id)
    return results.report(experiment, project, now=now)


def find_experiment(catalog: Catalog, experiment_id: str) -> tuple[Project, Experiment]:
    """Return an experiment of any project, and its project; NotFoundError."""
    for project in catalog.projects.all():
        for experiment in catalog.experiments.of_project(project.id):
            if experiment.id == experiment_id:
                return project, experiment
    raise NotFoundError("experiment", experiment_id)
