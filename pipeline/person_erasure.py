"""Erasure of a person from a project: from events, results, assignments, the spool and snapshots."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import polars as pl

from engine.design.project import Project
from engine.errors import InvalidDesignError, Problem
from pipeline.assignment.index_files import IndexFiles
from pipeline.events.hashing import hash64
from pipeline.services import PipelineServices
from pipeline.store.catalog.ids import new_id
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from pipeline.store.warehouse.imports.stored_rows import ANONYMOUS_PREFIX

IdType: TypeAlias = Literal["visitor", "user"]
_ANONYMOUS: Final = re.compile(rf"{ANONYMOUS_PREFIX}[0-9a-f]{{16}}-[0-9]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What an erasure removed; it names no id of the person.

    The experiments of `recounted` were counted again without the person; those of `sums_kept` are completed,
    and lost the person's row while their sums stay.
    """

    id: str
    project_id: str
    erased_at: datetime
    visitor_ids: int
    user_ids: int
    events: int
    recounted: tuple[str, ...]
    sums_kept: tuple[str, ...]
    snapshot_written: bool

    def to_json(self) -> Mapping[str, Any]:
        """Lay out the receipt as JSON."""
        return asdict(self) | {"erased_at": self.erased_at.isoformat()}


def erase(
    services: PipelineServices, project: Project, person_id: str, *, id_type: IdType, actor: str
) -> Receipt:
    """Erase the person with a visitor id or a user id, who may have others; every step may be done again.

    The bytes of removed rows stay in free places of the warehouse's file until these are used again, or the
    store is copied by a backup.

    Raises:
        InvalidDesignError: the id is of a row of a file without ids, which names nobody.
        DiskFullError: the disk lacks the room to write what is left.
        WarehouseUnavailableError: acknowledged events cannot be loaded at present.
    """
    if id_type == "visitor" and _ANONYMOUS.match(person_id):
        raise InvalidDesignError(
            [Problem("visitor_id", "is of a row of an imported file without visitor ids, which names nobody")]
        )
    key = hash64(person_id)
    # Made anew from the events, unless they are written below without the person.
    IndexFiles(services.settings.assignments_path, "").remove(project.id)
    erased = services.rollup.erase(project.id, key, is_user=id_type == "user")
    person = _alone(key, id_type) if erased is None else erased.person
    services.ingest.erase(project.id, person)
    has_snapshot = project.id in services.snapshots.stored_projects()
    if has_snapshot:
        services.snapshots.write(project.id, keep_former=False)
    # The log holds what was written since the last checkpoint.
    with services.snapshots.pause(), services.rollup.pause():
        services.warehouse.checkpoint()
    receipt = Receipt(
        id=new_id("ers"),
        project_id=project.id,
        erased_at=services.clock(),
        visitor_ids=len(person.visitor_keys),
        user_ids=len(person.user_keys),
        events=0 if erased is None else erased.events,
        recounted=() if erased is None else erased.recounted,
        sums_kept=() if erased is None else erased.kept,
        snapshot_written=has_snapshot,
    )
    recorded = ("project_id", "visitor_ids", "user_ids", "events")
    changes = {name: [None, getattr(receipt, name)] for name in recorded}
    services.catalog.audit.add(project.account_id, actor, receipt.id, changes)
    return receipt


def _alone(key: int, id_type: IdType) -> PersonIds:
    keys, none = pl.Series([key], dtype=pl.UInt64), pl.Series([], dtype=pl.UInt64)
    return PersonIds(none, keys) if id_type == "user" else PersonIds(keys, none)
