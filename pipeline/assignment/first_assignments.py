"""First assignments of visitors in every project: fed by ingest, kept in files, looked up in memory."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pipeline.assignment.assignment_index import NumberedRule
from pipeline.assignment.index_files import IndexFiles
from pipeline.assignment.link_index import UserClaim
from pipeline.assignment.project_index import ProjectIndex
from pipeline.assignment.unit_keys import member_key
from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from pipeline.store.ownership.warehouse_id import read_id
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from pipeline.store.warehouse.visitor_history import AssignmentRule

logger = logging.getLogger(__name__)

Rules = Sequence[AssignmentRule]
WRITE_SECONDS: Final = 120.0
_NO_UNITS: Final[Mapping[str, int]] = {}
# Projects whose stored events are read at once.
_READERS: Final = 2


@dataclass(frozen=True, slots=True)
class KnownAssignments:
    """First assignments of a visitor, as variant ids by experiment.

    Those in `inherited` experiments are of another visitor of the same user or unit alone. `is_linked` is
    false where an event has still to join the visitor to the user that it was asked for with.
    """

    variant_ids: Mapping[str, str]
    inherited: frozenset[str]
    is_linked: bool


class FirstAssignments:
    """First assignments by the rules of each look-up; the first of any visitor of a user holds for all.

    A project's index is read from its files, or else from all of its stored events, at the start or the first
    look-up, which waits for that. From then on it is fed by ingest.
    """

    def __init__(self, warehouse: Warehouse, ingest: Ingest, settings: Settings) -> None:
        """Listen to `ingest`, and keep files in the data folder."""
        self._warehouse = warehouse
        self._ingest = ingest
        self._files = IndexFiles(settings.assignments_path, read_id(warehouse) or "")
        self._projects: dict[str, ProjectIndex] = {}
        self._reads: dict[str, Future[None]] = {}
        self._adding = threading.Lock()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="assignments")
        self._woken = threading.Event()
        self._is_closing = False
        self._keeper = threading.Thread(target=self._keep, name="assignments", daemon=True)
        self._keeper.start()
        ingest.listen(self._feed)
        ingest.listen_bulk(self._begin_bulk, self._end_bulk)
        ingest.listen_forget(self._forget)
        ingest.listen_erasure(self._erase)

    def close(self) -> None:
        """Write what is new to the files, and end the threads."""
        self._is_closing = True
        self._woken.set()
        self._keeper.join()
        self._readers.shutdown(cancel_futures=True)
        self.write()

    def open_saved(self, seconds: float) -> None:
        """Read the files of projects for at most `seconds`; the others are read when they are needed."""
        ends_at = time.monotonic() + seconds
        for project_id in self._files.stored_projects():
            if time.monotonic() > ends_at:
                return
            if self._ingest.last_seq_of(project_id):
                with _logged(project_id, "read"):
                    self._project(project_id).prepare((), are_all=False)

    def is_ready(self, project_id: str, rules: Rules) -> bool:
        """Tell whether a look-up by rules would not wait."""
        project = self._projects.get(project_id)
        return project is not None and project.resolved(rules) is not None

    def prepare(self, project_id: str, rules: Rules, *, are_all: bool = True) -> Future[None]:
        """Have the project's events read in another thread; calls meanwhile wait for the same read.

        `rules` are those of every experiment of the project that assigns, if `are_all`.
        """
        project = self._project(project_id)
        with self._adding:
            reading = self._reads.get(project_id)
            if reading is None or reading.done():
                reading = self._readers.submit(project.prepare, rules, are_all=are_all)
                self._reads[project_id] = reading
        return reading

    def of_visitor(  # noqa: PLR0913  # the rest is said by name
        self,
        project_id: str,
        rules: Rules,
        visitor_key: int,
        claim: UserClaim | None = None,
        *,
        units: Mapping[str, int] = _NO_UNITS,
        are_all: bool = True,
    ) -> KnownAssignments:
        """Find the first assignments of a visitor, which says that it is the user of `claim`.

        `units` are the keys of its units, by experiment that assigns these; without one it has none there.
        `rules` are those of every experiment of the project that assigns, if `are_all`. Includes every event
        acknowledged before the call; raises what the store raises where events have to be read for that.
        """
        project, numbered = self._resolved(project_id, rules, are_all=are_all)
        index = project.index
        own = dict(index.firsts_of(visitor_key, numbered))
        variants = {one: (first.seq, first.variant_id) for one, first in own.items()}
        inherited: set[str] = set()
        for other in index.links.visitors_with(visitor_key, claim, index.newest_seq):
            for one, first in index.firsts_of(other, numbered):
                inherited |= set() if one in own else {one}
                place = (first.seq, first.variant_id)
                variants[one] = min(variants.get(one, place), place)
        for known in numbered if units else ():
            one = known.rule.experiment_id
            key = units.get(one) if known.is_clustered else None
            if key is not None and (of_unit := index.first_of(key, known)) is not None:
                variants[one] = (of_unit.seq, of_unit.variant_id)
                inherited |= set() if index.first_of(member_key(visitor_key, key), known) else {one}
        is_linked = claim is None or index.links.knows(visitor_key, claim)
        return KnownAssignments(
            variant_ids={one: variant_id for one, (_, variant_id) in variants.items()},
            inherited=frozenset(inherited),
            is_linked=is_linked,
        )

    def is_exposed(self, project_id: str, rule: AssignmentRule, key: int) -> bool:
        """Tell whether a visitor or unit has an exposure that counts in the experiment of a rule."""
        project, (known,) = self._resolved(project_id, [rule], are_all=False)
        first = project.index.first_of(key, known)
        return first is not None and first.is_exposed

    def _resolved(
        self, project_id: str, rules: Rules, *, are_all: bool
    ) -> tuple[ProjectIndex, Sequence[NumberedRule]]:
        """Return the project's index with the numbers of rules, once it is ready for them."""
        project = self._project(project_id)
        if are_all:
            project.served = rules
        while (numbered := project.resolved(rules)) is None:
            self.prepare(project_id, rules, are_all=are_all).result()
        return project, numbered

    def _project(self, project_id: str) -> ProjectIndex:
        project = self._projects.get(project_id)
        if project is None:
            with self._adding:
                added = ProjectIndex(project_id, self._warehouse, self._ingest, self._files)
                project = self._projects.setdefault(project_id, added)
        return project

    def _feed(self, project_id: str, first_seq: int, rows: Sequence[EventRow]) -> None:
        project = self._projects.get(project_id)
        if project is not None:
            project.feed(first_seq, rows)
            if project.index.is_crowded:
                self._woken.set()

    def _begin_bulk(self, project_id: str, first_seq: int) -> None:
        self._project(project_id).begin_bulk(first_seq)

    def _end_bulk(self, project_id: str) -> None:
        self._project(project_id).end_bulk()

    def _forget(self, project_id: str) -> None:
        project = self._projects.pop(project_id, None)
        self._reads.pop(project_id, None)
        if project is not None:
            project.remove()
        self._files.remove(project_id)

    def _erase(self, project_id: str, person: PersonIds) -> None:
        project = self._projects.get(project_id)
        if project is None:
            self._files.remove(project_id)
        else:
            project.erase(person.visitor_keys.to_list(), person.user_keys.to_list())

    def _keep(self) -> None:
        """Sort what is recent, and write files every few minutes."""
        write_at = time.monotonic() + WRITE_SECONDS
        while not self._is_closing:
            self._woken.wait(max(write_at - time.monotonic(), 0))
            self._woken.clear()
            for project in tuple(self._projects.values()):
                if project.index.is_crowded:
                    with _logged(project.project_id, "sorted"):
                        project.sort()
            if time.monotonic() >= write_at:
                self.write()
                write_at = time.monotonic() + WRITE_SECONDS

    def write(self) -> None:
        """Write what is new to the files; what cannot be written is tried again the next time."""
        for project in tuple(self._projects.values()):
            with _logged(project.project_id, "written"):
                self._warehouse.require_space()
                project.write()


@contextmanager
def _logged(project_id: str, done: str) -> Iterator[None]:
    """Log what fails inside the block: indexes can be read anew from the events."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - one project must not stop the others
        logger.warning("the assignments of project %s were not %s: %s", project_id, done, error)
