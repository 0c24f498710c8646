"""Exposures that do not count: of new visitors while an experiment takes none, or outside its traffic."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.design.assignment import Exclusion, exclusion_of
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.project_cache import CachedProject
from pipeline.events.decode import DecodedEvents
from pipeline.events.rejections import NOT_COUNTED, EventResult
from pipeline.events.timestamps import MICROSECONDS
from pipeline.ingest.ingest import Ingest
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import EventRow
from pipeline.store.warehouse.visitor_history import AssignmentQuery, exposed_visitors

_PAUSED: Final = "paused"


def find_excluded(events: DecodedEvents, cached: CachedProject) -> dict[int, Exclusion]:
    """Map the positions of exposures in `events.rows` to why a new visitor would not count there."""
    if not cached.limited_experiments:
        return {}
    return {
        position: exclusion
        for position, row in enumerate(events.rows)
        if row.type == "exposure" and (exclusion := _exclusion(row, cached))
    }


def _exclusion(row: EventRow, cached: CachedProject) -> Exclusion | None:
    experiment = cached.limited_experiments.get(row.experiment_id or "")
    return None if experiment is None else exclusion_of(experiment, row.visitor_id or "")


@dataclass(slots=True)
class ExposureFilter:
    """Filter of exposures, safe to share between threads."""

    catalog: Catalog
    warehouse: Warehouse
    ingest: Ingest
    first_assignments: FirstAssignments
    _exposed: dict[str, "_ExposedVisitors"] = field(default_factory=dict)
    # One a project: reading the events of a large one blocks no other.
    _locks: dict[str, threading.Lock] = field(default_factory=dict)

    def mark_not_counted(
        self, events: DecodedEvents, found: dict[int, Exclusion], cached: CachedProject
    ) -> DecodedEvents:
        """Mark those of the exposures `found` by `find_excluded` that do not count.

        Each experiment is read again, since another process may have started it a moment ago. A visitor of a
        paused experiment who was exposed before counts, and so does one outside the traffic with an
        assignment from before.
        """
        project_id = cached.project.id
        current = {
            experiment_id: self._current(project_id, cached.limited_experiments[experiment_id])
            for experiment_id in {str(events.rows[position].experiment_id) for position in found}
        }
        excluded: dict[int, Exclusion] = {}
        for position in found:
            row = events.rows[position]
            experiment = current[str(row.experiment_id)]
            exclusion = exclusion_of(experiment, row.visitor_id or "")
            if exclusion and not self._is_known(project_id, experiment, row.visitor_key):
                excluded[position] = exclusion
        return _marked(events, excluded)

    def _current(self, project_id: str, experiment: Experiment) -> Experiment:
        try:
            return self.catalog.experiments.get(project_id, experiment.id)
        except NotFoundError:
            return experiment

    def _is_known(self, project_id: str, experiment: Experiment, visitor_key: int) -> bool:
        """Return whether a visitor stays, whom the experiment would not take as a new one."""
        if experiment.status != _PAUSED:
            self._exposed.pop(experiment.id, None)
        if experiment.status == "running":
            return bool(self.first_assignments.of_visitor(project_id, [experiment], visitor_key).variant_ids)
        if experiment.status != _PAUSED:
            return False
        with self._locks.setdefault(project_id, threading.Lock()):
            exposed = self._exposed.setdefault(experiment.id, _ExposedVisitors())
            if self.ingest.last_seq_of(project_id) > exposed.seq:
                self.ingest.load()
                exposed.update(self.warehouse, experiment, self.ingest.last_loaded_seq_of(project_id))
            return bool(exposed.include(np.array([visitor_key], np.uint64))[0])


@dataclass(slots=True)
class _ExposedVisitors:
    """Visitors of an experiment with exposures that count: sorted keys, eight bytes each."""

    seq: int = 0
    keys: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    def update(self, warehouse: Warehouse, experiment: Experiment, newest_seq: int) -> None:
        """Add the visitors of newer events; the first call reads all events of the experiment."""
        if experiment.started_at is None or newest_seq <= self.seq:
            return
        query = AssignmentQuery(
            project_id=experiment.project_id,
            experiment_id=experiment.id,
            variant_ids=[variant.id for variant in experiment.variants],
            started_us=int(experiment.started_at.timestamp() * MICROSECONDS),
            after_seq=self.seq,
            up_to_seq=newest_seq,
        )
        newer = exposed_visitors(warehouse, query)
        added = newer[~self.include(newer)]
        # A copy of all keys, which visitors of a paused experiment hardly ever cause.
        if len(added):
            self.keys = np.insert(self.keys, np.searchsorted(self.keys, added), added)
        self.seq = newest_seq

    def include(self, visitor_keys: npt.NDArray[np.uint64]) -> BoolArray:
        """Return for each visitor whether there was an exposure."""
        if not len(self.keys):
            return np.zeros(len(visitor_keys), np.bool_)
        positions = np.minimum(np.searchsorted(self.keys, visitor_keys), len(self.keys) - 1)
        return np.asarray(self.keys[positions] == visitor_keys)


def _marked(events: DecodedEvents, excluded: dict[int, Exclusion]) -> DecodedEvents:
    rows = [
        row._replace(not_counted=excluded[position].code) if position in excluded else row
        for position, row in enumerate(events.rows)
    ]
    return DecodedEvents(rows, list(_results(events.results, excluded)))


def _results(results: list[EventResult], excluded: dict[int, Exclusion]) -> Iterator[EventResult]:
    """Yield the results; those that are not rejected belong to the rows, in order."""
    position = 0
    for result in results:
        if result.status == "rejected":
            yield result
            continue
        exclusion = excluded.get(position)
        position += 1
        yield (
            result if exclusion is None else EventResult(result.event_id, "ok", NOT_COUNTED, exclusion.reason)
        )
