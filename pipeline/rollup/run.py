"""One run at a time, whoever asks: what is due is counted, and everything is counted anew at night.

Whether results that were carried on from run to run are what counting everything anew comes to.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import polars as pl

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.rollup.aggregates import add_up, taken_away
from pipeline.rollup.count_and_publish import RollupScope, count
from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.due import Due, find_due
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import aggregates, visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.event_reader import newest_seq
from pipeline.store.warehouse.published import Published


@dataclass(frozen=True, slots=True, eq=False)
class ResultDigest:
    """An experiment's results at one moment: a digest of its visitors, and all of its sums."""

    digest: tuple[int, ...]
    cells: pl.DataFrame

    @classmethod
    def take(cls, cursor: Cursor, experiment_id: str) -> Self:
        """Read them from the store."""
        return cls(visitors.digest(cursor, experiment_id), aggregates.read_all(cursor, experiment_id))

    def agrees_with(self, other: Self) -> bool:
        """Whether both say the same of every visitor, and of every segment that both sum up."""
        shared = set(self.cells["dimension"]) & set(other.cells["dimension"])
        shared |= {aggregates.EVERYONE, aggregates.SINCE_EXPOSURE}
        difference = add_up([self._of(shared), taken_away(other._of(shared))])
        return self.digest == other.digest and difference.is_empty()

    def _of(self, dimensions: set[str]) -> pl.DataFrame:
        return self.cells.filter(pl.col("dimension").is_in(dimensions))


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did to which experiments, by id: `drifted` ones had not been what their events come to."""

    recounted: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    drifted: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A sentence for people."""
        parts = [
            f"{len(ids)} {what}"
            for ids, what in (
                (self.recounted, "counted from the first event on"),
                (self.updated, "brought up to date"),
                (self.drifted, "had drifted"),
            )
            if ids
        ]
        return ", ".join(parts) or "up to date already"


class Rollup:
    """Turns a project's events into results; any thread may call its methods, and runs take turns.

    An unknown project raises NotFoundError.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        catalog: Catalog,
        settings: Settings,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Work on `warehouse`; `clock` says when a result was true."""
        self._warehouse = warehouse
        self._catalog = catalog
        self._at_once = settings.rollup_bucket_events
        self._clock = clock
        self._running = threading.Lock()
        self._asking = threading.Lock()
        self._asked: dict[str, Future[Outcome]] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="rollup")
        with warehouse.cursor() as cursor:
            published_rollups.create_table(cursor)

    def refresh(self, project_id: str, experiment_ids: Collection[str] | None = None) -> Outcome:
        """Count what is not counted yet, of those experiments or of all of them."""
        with self._running:
            project = self._catalog.projects.find(project_id)
            return self._refresh(project, self._extent(project), experiment_ids)

    def rebuild(self, project_id: str) -> Outcome:
        """Count everything anew, from the first event on, and say where that came out differently.

        What completed experiments ended with stays as it is.
        """
        with self._running:
            project = self._catalog.projects.find(project_id)
            # Both counts end with the same event, whatever arrives in between.
            extent = self._extent(project)
            first = self._refresh(project, extent)
            anew = self._to_recount(project)
            before = self._snapshots(anew)
            count(self._warehouse, anew, extent)
            after = self._snapshots(anew)
        drifted = tuple(one for one, snapshot in before.items() if not snapshot.agrees_with(after[one]))
        for experiment_id in drifted:
            logger.error("results of %s had drifted from its events, and are counted anew", experiment_id)
        return Outcome(recounted=tuple(before) or first.recounted, drifted=drifted)

    def refresh_within(self, project_id: str, seconds: float) -> bool:
        """Refresh, waiting at most so long; False where it takes longer, going on by itself, or fails.

        Whoever asks before a run has begun waits for that same run.
        """
        with self._asking:
            run = self._asked.get(project_id)
            if run is None:
                run = self._asked[project_id] = self._worker.submit(self._refresh_asked, project_id)
        try:
            run.result(timeout=seconds)
        except TimeoutError:
            return False
        except Exception:
            logger.exception("results of project %s could not be brought up to date", project_id)
            return False
        return True

    def is_fresh(self, experiment: Experiment, project: Project) -> bool:
        """Whether what is published of the experiment counts everything there is."""
        extent = self._extent(project)
        return extent.newest_seq == 0 or not self._due(project, [experiment], extent)

    def forget(self, experiment_ids: Iterable[str]) -> None:
        """Remove the results of experiments."""
        with self._running, self._warehouse.transaction() as cursor:
            for experiment_id in experiment_ids:
                published_rollups.withdraw(cursor, experiment_id)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let no run begin inside, once the one under way has ended."""
        with self._running:
            yield

    def close(self) -> None:
        """Let the run that is under way end, and begin no other."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _refresh_asked(self, project_id: str) -> Outcome:
        with self._running:
            # From here on this run may miss what arrives, so whoever asks now gets the next one.
            with self._asking:
                del self._asked[project_id]
            project = self._catalog.projects.find(project_id)
            return self._refresh(project, self._extent(project))

    def _refresh(
        self, project: Project, extent: RollupScope, experiment_ids: Collection[str] | None = None
    ) -> Outcome:
        if extent.newest_seq == 0:
            return Outcome()
        experiments = self._catalog.experiments.of_project(project.id)
        asked = [one for one in experiments if experiment_ids is None or one.id in experiment_ids]
        due = self._due(project, asked, extent)
        count(self._warehouse, due, extent)
        return Outcome(
            recounted=tuple(one.experiment.id for one in due if one.before is None),
            updated=tuple(one.experiment.id for one in due if one.before is not None),
        )

    def _extent(self, project: Project) -> RollupScope:
        return RollupScope(
            project_id=project.id,
            newest_seq=newest_seq(self._warehouse, project.id) or 0,
            now=self._clock(),
            at_once=self._at_once,
        )

    def _due(self, project: Project, experiments: Collection[Experiment], extent: RollupScope) -> list[Due]:
        published = self._published(experiments)
        return find_due(experiments, published, CountingRules.of(project), extent.newest_seq, extent.now)

    def _to_recount(self, project: Project) -> list[Due]:
        experiments = self._catalog.experiments.of_project(project.id)
        published = self._published(experiments)
        rules = CountingRules.of(project)
        return [
            Due(experiment=one, rules=rules, before=None)
            for one in experiments
            if one.id in published and not published[one.id].is_final
        ]

    def _published(self, experiments: Iterable[Experiment]) -> dict[str, Published]:
        with self._warehouse.cursor() as cursor:
            found = [published_rollups.find(cursor, one.id) for one in experiments]
        return {one.experiment_id: one for one in found if one is not None}

    def _snapshots(self, due: Iterable[Due]) -> dict[str, ResultDigest]:
        with self._warehouse.cursor() as cursor:
            return {one.experiment.id: ResultDigest.take(cursor, one.experiment.id) for one in due}
