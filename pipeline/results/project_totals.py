"""Totals of a project's visitors, kept beside its results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.rollup.kept_totals import counted_experiments
from pipeline.rollup.run import Rollup
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse import visitor_totals
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.extremes import MINUTE_US
from pipeline.store.warehouse.visitor_totals import Totals

# The window of recent visitors.
RECENTLY: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class ProjectExperiments:
    """A project's experiments that have started, which `read` lists, at a version of all of its own."""

    version: int
    read: Callable[[], Sequence[Experiment]]


class ProjectTotals:
    """Totals of projects; thread-safe."""

    def __init__(self, warehouse: Warehouse, rollup: Rollup, *, seconds: float) -> None:
        """Read `warehouse`, once `rollup` has brought it up to date, for which there are `seconds`."""
        self._warehouse = warehouse
        self._rollup = rollup
        self._seconds = seconds
        # By project, that of which everything was counted last.
        self._counted: dict[str, tuple[Project, int, int]] = {}

    def of(self, project: Project, experiments: ProjectExperiments, *, now: datetime) -> Totals:
        """Count the distinct visitors of a project's experiments, in total and in the 30 days up to `now`."""
        # First, since whatever comes in between has to be counted again.
        state = project, experiments.version, self._rollup.last_seq_of(project.id)
        if self._counted.get(project.id) != state and self._rollup.refresh_within(project.id, self._seconds):
            self._counted[project.id] = state
        first = epoch_microseconds(now - RECENTLY) // MINUTE_US
        with self._warehouse.transaction() as cursor:
            kept = visitor_totals.read(cursor, project.id, first=first)
            if kept is not None:
                return kept
            # The next read has them kept first.
            self._counted.pop(project.id, None)
            started = experiments.read()
            published = published_rollups.find_all(cursor, [one.id for one in started])
            return visitor_totals.count(cursor, counted_experiments(started, published), first=first)
