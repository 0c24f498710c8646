"""Totals of a project's visitors, kept until the results of one of its experiments change."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import numpy as np

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from engine.stats.arrays import IntArray
from pipeline.rollup.run import Rollup
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.extremes import MINUTE_US
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.visitor_totals import CountedExperiment, read_minutes

# The window of recent visitors.
RECENTLY: Final = timedelta(days=30)
# Each has some 43,000 minutes of 24 bytes at most.
MOST_PROJECTS: Final = 64


class Totals(NamedTuple):
    """Distinct visitors, those who converted on a primary goal, and the recent ones of both."""

    visitors: int = 0
    converted: int = 0
    recent_visitors: int = 0
    recently_converted: int = 0


@dataclass(frozen=True, slots=True)
class ProjectExperiments:
    """A project's experiments that have started, which `read` lists, at a version of all of its own."""

    version: int
    read: Callable[[], Sequence[Experiment]]


@dataclass(frozen=True, slots=True)
class VisitorMinutes:
    """Visitors, and converted ones, by minute since 1970; the first minute has all earlier ones."""

    minutes: IntArray
    visitors: IntArray
    converted: IntArray

    def totals(self, now: datetime) -> Totals:
        """Add up; recent is from the minute on that was 30 days before `now`."""
        recent = self.minutes >= _first_minute(now)
        return Totals(
            *(int(counts.sum()) for counts in (self.visitors, self.converted)),
            *(int(counts[recent].sum()) for counts in (self.visitors, self.converted)),
        )


@dataclass(frozen=True, slots=True)
class _Kept:
    project: Project
    version: int
    newest_seq: int
    # By the id of each experiment that has started; `Publications.changes`.
    changes: Mapping[str, int]
    read_at: datetime
    minutes: VisitorMinutes


class ProjectTotals:
    """Totals of projects; thread-safe."""

    def __init__(self, warehouse: Warehouse, rollup: Rollup, *, seconds: float) -> None:
        """Read `warehouse`, once `rollup` has brought it up to date, for which there are `seconds`."""
        self._warehouse = warehouse
        self._rollup = rollup
        self._seconds = seconds
        self._changing = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def of(self, project: Project, experiments: ProjectExperiments, *, now: datetime) -> Totals:
        """Count the distinct visitors of a project's experiments, in total and in the 30 days up to `now`."""
        with self._changing:
            kept = self._kept.get(project.id)
        if kept is None or not self._holds(kept, project, experiments.version, now):
            kept = self._read(project, experiments, now)
            with self._changing:
                self._kept[project.id] = kept
                self._kept.move_to_end(project.id)
                while len(self._kept) > MOST_PROJECTS:
                    self._kept.popitem(last=False)
        return kept.minutes.totals(now)

    def _holds(self, kept: _Kept, project: Project, version: int, now: datetime) -> bool:
        changes = self._rollup.publications.changes
        return (
            (kept.project, kept.version) == (project, version)
            and kept.read_at <= now
            and kept.newest_seq == self._rollup.last_seq_of(project.id)
            and all(changes(one) == number for one, number in kept.changes.items())
        )

    def _read(self, project: Project, experiments: ProjectExperiments, now: datetime) -> _Kept:
        # First, since whatever comes in between has to be read again.
        newest_seq = self._rollup.last_seq_of(project.id)
        is_fresh = self._rollup.refresh_within(project.id, self._seconds)
        started = experiments.read()
        changes = {one.id: self._rollup.publications.changes(one.id) for one in started}
        with self._warehouse.transaction() as cursor:
            published = published_rollups.find_all(cursor, changes)
            counted = [_counted(one, published[one.id]) for one in started if one.id in published]
            columns = read_minutes(cursor, counted, first=_first_minute(now))
        return _Kept(
            project,
            experiments.version,
            # Never that of an event, so that these totals are not used again.
            newest_seq if is_fresh else -1,
            changes,
            now,
            VisitorMinutes(*(np.asarray(column, np.int64) for column in columns)),
        )


def _first_minute(now: datetime) -> int:
    return epoch_microseconds(now - RECENTLY) // MINUTE_US


def _counted(experiment: Experiment, published: Published) -> CountedExperiment:
    goal = experiment.primary_goal
    # A goal added since the last count has no position in the tables yet.
    place = published.goals.index(goal.id) if goal and goal.id in published.goals else None
    return CountedExperiment(experiment.id, len(published.variants), place)
