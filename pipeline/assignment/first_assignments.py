"""Index of first assignments: in memory, 17 bytes a visitor, current to the last commit."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray
from pipeline.assignment.link_index import LinkIndex, UserClaim
from pipeline.events.timestamps import MICROSECONDS
from pipeline.ingest.ingest import Ingest
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.identities import read_links
from pipeline.store.warehouse.visitor_history import AssignmentQuery, FirstVariants, first_variants

# New visitors are kept in a dictionary until there are so many: a merge copies the arrays.
MAX_RECENT: Final = 65_536


@dataclass(slots=True)
class _Index:
    """First variants of an experiment's visitors: sorted arrays, and a dictionary of recent visitors."""

    variant_ids: list[str]
    seq: int = 0
    keys: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    variants: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    seqs: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    # The number of the first event and the variant.
    recent: dict[int, tuple[int, int]] = field(default_factory=dict)

    def first_of(self, visitor_key: int) -> tuple[int, str] | None:
        """Return the sequence number and the variant id of the visitor's first assignment."""
        found = self.recent.get(visitor_key) or self._in_arrays(visitor_key)
        return None if found is None else (found[0], self.variant_ids[found[1]])

    def add(self, newer: FirstVariants, up_to_seq: int) -> None:
        """Add visitors; one that is in the index keeps the earlier variant."""
        is_new = ~self._are_in_arrays(newer.visitor_keys)
        keys, variants, seqs = newer.visitor_keys[is_new], newer.variants[is_new], newer.seqs[is_new]
        if len(self.recent) + len(keys) > MAX_RECENT:
            self._merge(keys, variants, seqs)
        else:
            for key, *first in zip(keys.tolist(), seqs.tolist(), variants.tolist(), strict=True):
                self.recent.setdefault(key, (first[0], first[1]))
        self.seq = up_to_seq

    def _in_arrays(self, visitor_key: int) -> tuple[int, int] | None:
        position = int(np.searchsorted(self.keys, np.uint64(visitor_key)))
        if position < len(self.keys) and int(self.keys[position]) == visitor_key:
            return int(self.seqs[position]), int(self.variants[position])
        return None

    def _are_in_arrays(self, keys: npt.NDArray[np.uint64]) -> BoolArray:
        if not len(self.keys):
            return np.zeros(len(keys), np.bool_)
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.asarray(self.keys[positions] == keys)

    def _merge(
        self, keys: npt.NDArray[np.uint64], variants: npt.NDArray[np.uint8], seqs: npt.NDArray[np.int64]
    ) -> None:
        """Merge `recent` and visitors, none of them in the arrays yet, into the arrays."""
        recent_keys = np.fromiter(self.recent, np.uint64, len(self.recent))
        recent = np.array(list(self.recent.values()), np.int64).reshape(-1, 2)
        # Of a visitor in both, the first occurrence is the earlier one.
        added, first = np.unique(np.concatenate([recent_keys, keys]), return_index=True)
        positions = np.searchsorted(self.keys, added)
        added_variants = np.concatenate([recent[:, 1].astype(np.uint8), variants])[first]
        self.keys = np.insert(self.keys, positions, added)
        self.variants = np.insert(self.variants, positions, added_variants)
        self.seqs = np.insert(self.seqs, positions, np.concatenate([recent[:, 0], seqs])[first])
        self.recent = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAssignments:
    """First assignments of a visitor, or of the user it belongs to, as variant ids by experiment id.

    `inherited` are those in which only other visitors of the user have an assignment. `is_linked` is False
    where an event has still to join the visitor to the user that it was asked for with.
    """

    variant_ids: Mapping[str, str]
    inherited: frozenset[str]
    is_linked: bool


class FirstAssignments:
    """First assignments in every served experiment; an experiment's are read at its first look-up.

    The first assignment of any visitor of a user holds for all of them.
    """

    def __init__(self, warehouse: Warehouse, ingest: Ingest) -> None:
        """Read from `warehouse` up to the last commit of `ingest`."""
        self._warehouse = warehouse
        self._ingest = ingest
        self._indexes: dict[str, _Index] = {}
        self._links: dict[str, LinkIndex] = {}
        # One a project: reading the events of a large one blocks no other.
        self._locks: dict[str, threading.Lock] = {}

    def of_visitor(
        self,
        project_id: str,
        experiments: Iterable[Experiment],
        visitor_key: int,
        claim: UserClaim | None = None,
    ) -> KnownAssignments:
        """Find the first assignments of a visitor, which says that it is the user of `claim`.

        Includes every event acknowledged before the call. The first call for an experiment reads all of its
        events, which takes a second for three million visitors; later calls read new ones only.
        """
        variant_ids: dict[str, str] = {}
        inherited: set[str] = set()
        with self._locks.setdefault(project_id, threading.Lock()):
            links = self._current_links(project_id)
            others = links.visitors_with(visitor_key, claim)
            for experiment in experiments:
                index = self._current(project_id, experiment)
                own = index.first_of(visitor_key)
                firsts = [first for first in (own, *map(index.first_of, others)) if first is not None]
                if firsts:
                    variant_ids[experiment.id] = min(firsts)[1]
                    inherited |= {experiment.id} if own is None else set()
            is_linked = claim is None or links.knows(visitor_key, claim)
        return KnownAssignments(variant_ids=variant_ids, inherited=frozenset(inherited), is_linked=is_linked)

    def _current_links(self, project_id: str) -> LinkIndex:
        links = self._links.setdefault(project_id, LinkIndex())
        if self._ingest.last_user_seq_of(project_id) > links.seq:
            newest = self._newest_loaded(project_id)
            added = read_links(self._warehouse, project_id, after_seq=links.seq, up_to_seq=newest)
            links.add(added, newest)
        return links

    def _current(self, project_id: str, experiment: Experiment) -> _Index:
        index = self._indexes.setdefault(experiment.id, _Index([]))
        index.variant_ids += [v.id for v in experiment.variants if v.id not in index.variant_ids]
        if experiment.started_at is not None and self._ingest.last_seq_of(project_id) > index.seq:
            newest = self._newest_loaded(project_id)
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

    def _newest_loaded(self, project_id: str) -> int:
        self._ingest.load()
        return self._ingest.last_loaded_seq_of(project_id)
