"""Bandit job: new traffic weights by the results so far."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.reweighting import reweight
from pipeline.results.results import Results
from pipeline.run_each import run_each
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError

if TYPE_CHECKING:
    from engine.analysis.automation.bandit_weights import NewWeights


class _ChangedError(Exception):
    """The experiment was changed after its results were analyzed."""


def move_weights(
    catalog: Catalog, results: Results, project: Project, *, clock: Callable[[], datetime]
) -> None:
    """Update the weights of a project's running bandits that have enough new results since the last update.

    ExceptionGroup of the failures.
    """
    bandits = [
        one
        for one in catalog.experiments.of_project(project.id, ["running"])
        if one.traffic_strategy == "bandit"
    ]
    run_each(
        {f"experiment {one.id}": partial(_update_weights, catalog, results, one, clock) for one in bandits}
    )


def _update_weights(
    catalog: Catalog, results: Results, experiment: Experiment, clock: Callable[[], datetime]
) -> None:
    from engine.analysis.automation.bandit_weights import next_weights  # noqa: PLC0415 - slow, and not needed at a start

    now = clock()
    try:
        project = catalog.projects.find(experiment.project_id)
        evidence = results.evidence(experiment, project, now=now)
        new_weights = next_weights(experiment, evidence, now=now)
        if new_weights is not None:
            _save(catalog, experiment, new_weights, clock)
    except (_ChangedError, NotFoundError):
        # The other change stands, and the next run analyzes again.
        return


def _save(
    catalog: Catalog, analyzed: Experiment, new_weights: "NewWeights", clock: Callable[[], datetime]
) -> None:
    def decide(current: Experiment) -> Experiment:
        # The weights hold for the experiment that was analyzed, not for a later version.
        if current != analyzed:
            raise _ChangedError
        # The epoch begins as it is saved, however long the analysis took.
        return reweight(current, new_weights.weights, now=clock())

    actor = f"bandit: {_reason(analyzed, new_weights)}"
    catalog.experiments.change(analyzed.project_id, analyzed.id, decide, actor=actor)


def _reason(experiment: Experiment, new_weights: "NewWeights") -> str:
    best = max(range(len(new_weights.chance)), key=new_weights.chance.__getitem__)
    return f"{experiment.variants[best].id} is best with a chance of {new_weights.chance[best]:.1%}"
