"""Index of first assignments: in memory, nine bytes a visitor, current to the last commit."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray
from pipeline.events.timestamps import MICROSECONDS
from pipeline.ingest import Ingest
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.first_assignments import AssignmentQuery, FirstVariants, first_variants

# New visitors are kept in a dictionary until there are so many: a merge copies the arrays.
MAX_RECENT: Final = 65_536


@dataclass(slots=True)
class _Index:
    """First variants of an experiment's visitors: sorted arrays, and a dictionary of recent visitors."""

    variant_ids: list[str]
    seq: int = 0
    keys: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    variants: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    recent: dict[int, int] = field(default_factory=dict)

    def variant_of(self, visitor_key: int) -> str | None:
        variant = self.recent.get(visitor_key)
        if variant is None:
            variant = self._in_arrays(visitor_key)
        return None if variant is None else self.variant_ids[variant]

    def add(self, newer: FirstVariants, up_to_seq: int) -> None:
        """Add visitors; one that is in the index keeps the earlier variant."""
        is_new = ~self._are_in_arrays(newer.visitor_keys)
        keys, variants = newer.visitor_keys[is_new], newer.variants[is_new]
        if len(self.recent) + len(keys) > MAX_RECENT:
            self._merge(keys, variants)
        else:
            for key, variant in zip(keys.tolist(), variants.tolist(), strict=True):
                self.recent.setdefault(key, variant)
        self.seq = up_to_seq

    def _in_arrays(self, visitor_key: int) -> int | None:
        position = int(np.searchsorted(self.keys, np.uint64(visitor_key)))
        if position < len(self.keys) and int(self.keys[position]) == visitor_key:
            return int(self.variants[position])
        return None

    def _are_in_arrays(self, keys: npt.NDArray[np.uint64]) -> BoolArray:
        if not len(self.keys):
            return np.zeros(len(keys), np.bool_)
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.asarray(self.keys[positions] == keys)

    def _merge(self, keys: npt.NDArray[np.uint64], variants: npt.NDArray[np.uint8]) -> None:
        """Merge `recent` and `keys`, none of them in the arrays yet, into the arrays."""
        recent_keys = np.fromiter(self.recent, np.uint64, len(self.recent))
        recent_variants = np.fromiter(self.recent.values(), np.uint8, len(self.recent))
        # Of a visitor in both, the first occurrence is the earlier one.
        added, first = np.unique(np.concatenate([recent_keys, keys]), return_index=True)
        positions = np.searchsorted(self.keys, added)
        self.keys = np.insert(self.keys, positions, added)
        self.variants = np.insert(
            self.variants, positions, np.concatenate([recent_variants, variants])[first]
        )
        self.recent = {}


class FirstAssignments:
    """First assignments in every served experiment; an experiment's are read at its first look-up."""

    def __init__(self, warehouse: Warehouse, ingest: Ingest) -> None:
        """Read from `warehouse` up to the last commit of `ingest`."""
        self._warehouse = warehouse
        self._ingest = ingest
        self._indexes: dict[str, _Index] = {}
        # One a project: reading the events of a large one blocks no other.
        self._locks: dict[str, threading.Lock] = {}

    def of_visitor(
        self, project_id: str, experiments: Iterable[Experiment], visitor_key: int
    ) -> Mapping[str, str]:
        """Map experiment id to variant id, for the experiments that the visitor is assigned in.

        Includes every event acknowledged before the call. The first call for an experiment reads all of its
        events, which takes a second for three million visitors; later calls read new ones only.
        """
        variant_ids: dict[str, str] = {}
        with self._locks.setdefault(project_id, threading.Lock()):
            for experiment in experiments:
                index = self._current(project_id, experiment)
                variant_id = index.variant_of(visitor_key)
                if variant_id is not None:
                    variant_ids[experiment.id] = variant_id
        return variant_ids

    def _current(self, project_id: str, experiment: Experiment) -> _Index:
        index = self._indexes.setdefault(experiment.id, _Index([]))
        index.variant_ids += [v.id for v in experiment.variants if v.id not in index.variant_ids]
        newest = self._ingest.last_seq_of(project_id)
        if experiment.started_at is not None and newest > index.seq:
            query = AssignmentQuery(
                project_id=project_id,
                experiment_id=experiment.id,
                variant_ids=index.variant_ids,
                started_us=int(experiment.started_at.timestamp() * MICROSECONDS),
                after_seq=index.seq,
                up_to_seq=newest,
            )
            index.add(first_variants(self._warehouse, query), newest)
        return index
