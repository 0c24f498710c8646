"""Job that records looks: the one at the plan, and one in every running day, whoever reads."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import cache, partial

from engine.design.experiment import Experiment
from engine.design.lifecycle import STARTED
from engine.design.project import Project
from pipeline.results.due_looks import DueLooks
from pipeline.run_each import run_each
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError


def record_looks(catalog: Catalog, due_looks: DueLooks, *, now: datetime) -> None:
    """Record the looks that are due at every open experiment, and at those completed without a last look.

    Also at ended ones without a verdict for lists, as those of an earlier version. ExceptionGroup of the
    failures.
    """
    last_times, kept = catalog.recorded_looks.last_times(), catalog.kept_verdicts.experiment_ids()
    experiments = [
        one
        for one in catalog.experiments.in_statuses(STARTED)
        if one.id not in kept
        or (one.status != "archived" and not _was_looked_at_since_its_end(one, last_times.get(one.id)))
    ]
    # Each project is read once a pass.
    find = cache(catalog.projects.find)
    run_each(
        {f"experiment {one.id}": partial(_record_look, find, due_looks, one, now) for one in experiments}
    )


def _record_look(
    find: Callable[[str], Project], due_looks: DueLooks, experiment: Experiment, now: datetime
) -> None:
    # A deleted experiment needs no look.
    with suppress(NotFoundError):
        due_looks.record(experiment, find(experiment.project_id), now=now)


def _was_looked_at_since_its_end(experiment: Experiment, last_look: datetime | None) -> bool:
    ended = experiment.completed_at
    return ended is not None and last_look is not None and last_look >= ended
