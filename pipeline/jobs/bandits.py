"""What moves the weights of bandits: traffic follows what is best so far."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from engine.analysis.automation.bandit_weights import NewWeights, next_weights
from engine.design.experiment import Experiment
from engine.design.reweighting import reweight
from pipeline.results.results import Results
from pipeline.run_each import run_each
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError


class _ChangedError(Exception):
    """Somebody changed the experiment since it was judged."""


def move_weights(catalog: Catalog, results: Results, *, clock: Callable[[], datetime]) -> None:
    """Move the weights of every running bandit that has learnt enough since they last moved.

    ExceptionGroup of those that could not be judged.
    """
    bandits = [
        one for one in catalog.experiments.in_statuses(["running"]) if one.traffic_strategy == "bandit"
    ]
    run_each({f"experiment {one.id}": partial(_steer, catalog, results, one, clock) for one in bandits})


def _steer(catalog: Catalog, results: Results, experiment: Experiment, clock: Callable[[], datetime]) -> None:
    now = clock()
    try:
        project = catalog.projects.find(experiment.project_id)
        evidence = results.evidence(experiment, project, now=now)
        move = next_weights(experiment, evidence, now=now)
        if move is not None:
            _apply(catalog, experiment, move, clock)
    except (_ChangedError, NotFoundError):
        # Whoever was faster knew what they wanted, and the next run judges anew.
        return


def _apply(catalog: Catalog, judged: Experiment, move: NewWeights, clock: Callable[[], datetime]) -> None:
    def decide(current: Experiment) -> Experiment:
        # What was judged is the experiment as it was.
        if current != judged:
            raise _ChangedError
        # The epoch begins as it is saved, however long the judging took.
        return reweight(current, move.weights, now=clock())

    actor = f"bandit: {_why(judged, move)}"
    catalog.experiments.change(judged.project_id, judged.id, decide, actor=actor)


def _why(experiment: Experiment, move: NewWeights) -> str:
    best = max(range(len(move.chance)), key=move.chance.__getitem__)
    return f"{experiment.variants[best].id} is best with a chance of {move.chance[best]:.1%}"
