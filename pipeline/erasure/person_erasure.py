"""Erasure of a person from a project, with a receipt of what was read back."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from engine.design.project import Project
from engine.errors import InvalidDesignError, Problem
from engine.local_days import epoch_microseconds
from pipeline.erased_keys import ErasedKeys
from pipeline.erasure.earlier_erasures import blank_earlier_erasures
from pipeline.erasure.event_tombstones import EVENT_FILES, add_tombstone, has_event_files
from pipeline.erasure.holder import Erasing
from pipeline.erasure.holders import HOLDERS
from pipeline.erasure.snapshot_rows import needs_new_snapshot
from pipeline.events.hashing import hash64
from pipeline.run_each import run_each
from pipeline.services import PipelineServices
from pipeline.store.catalog.ids import new_id
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.erasure.erased_events import list_keys
from pipeline.store.warehouse.erasure.erased_person import (
    ErasedPerson,
    forget_pending,
    note_pending,
    read_pending,
)
from pipeline.store.warehouse.imports.stored_rows import ANONYMOUS_PREFIX

IdType: TypeAlias = Literal["visitor", "user"]
_UNKNOWN_ACTOR: Final = "interrupted erasure"
_ANONYMOUS: Final = re.compile(rf"{ANONYMOUS_PREFIX}[0-9a-f]{{16}}-[0-9]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """A place that was read after an erasure, and how often it still has the person."""

    place: str
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What an erasure removed; it names no id of the person.

    The experiments of `recounted` were counted again without the person; those of `sums_kept` are completed,
    and keep their numbers. `read_back` has every place that can hold a person and is erased, `not_reached`
    the others that this service has written, where a tombstone tells their readers what to delete.
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
    read_back: tuple[ReadBack, ...]
    not_reached: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing of the person was left."""
        return all(one.left == 0 for one in self.read_back)

    def to_json(self) -> Mapping[str, Any]:
        """Lay out the receipt as JSON."""
        told = {"erased_at": self.erased_at.isoformat(), "is_complete": self.is_complete}
        return asdict(self) | told


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
    with services.erasing:
        target = _Target(key=hash64(person_id), is_user=id_type == "user", person_id=person_id)
        return _erase(services, project, target, actor=actor)


def end_begun_erasures(services: PipelineServices) -> None:
    """End the erasures that a killed process has begun, of all projects; ExceptionGroup of the failures."""
    with services.erasing:
        blank_earlier_erasures(services)
        with services.warehouse.cursor() as cursor:
            begun = {one.project_id for one in read_pending(cursor)}
        projects = [one for one in services.catalog.projects.all() if one.id in begun]
        run_each({f"project {one.id}": partial(_end_pending, services, one) for one in projects})


def erase_again(services: PipelineServices, *, since: datetime, actor: str) -> int:
    """Erase the persons of a restored store who were erased after its backup; return their number."""
    erased_keys, erased = ErasedKeys(services.settings), 0
    since_us = epoch_microseconds(since)
    for project in services.catalog.projects.all():
        listed = {one for one, at in erased_keys.of(project.id).items() if at >= since_us}
        found = services.catalog.experiments.of_project(project.id, with_holdouts=True)
        experiments = [one.id for one in found]
        with services.warehouse.cursor() as cursor:
            stored = list_keys(cursor, project.id, experiments) if listed else []
        for is_user, key in stored:
            if erased_keys.hash(project.id, "user" if is_user else "visitor", key) in listed:
                with services.erasing:
                    receipt = _erase(services, project, _Target(key=key, is_user=is_user), actor=actor)
                # Other ids of a person are gone with the first.
                erased += receipt.events > 0 or bool(receipt.sums_kept)
    return erased


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The key of a visitor id or a user id, and the id where that is known."""

    key: int
    is_user: bool
    person_id: str | None = None


def _erase(services: PipelineServices, project: Project, target: _Target, *, actor: str) -> Receipt:
    blank_earlier_erasures(services)
    ended = _end_pending(services, project)
    key, is_user = target.key, target.is_user
    erased_keys, now, receipt_id = ErasedKeys(services.settings), services.clock(), new_id("ers")

    def remove(cursor: Cursor, found: ErasedPerson) -> None:
        remove_from_tables(cursor, replace(found, receipt_id=receipt_id, actor=actor))

    def keep_out(found: ErasedPerson) -> None:
        # An import that runs has stored the rows which it chose before.
        with services.ingest.importing:
            erased_keys.add(project.id, found.person, now)

    erased = services.rollup.erase(project.id, key, is_user=is_user, keep_out=keep_out, remove=remove)
    if erased is None:
        users, visitors = ((key,), ()) if is_user else ((), (key,))
        erased = ErasedPerson(project_id=project.id, until=0, visitor_keys=visitors, user_keys=users)
    erased = replace(erased, receipt_id=receipt_id, actor=actor)
    begun = next((one for one in ended if key in one.person.all_keys), None)
    if begun is not None and not erased.is_stored:
        erased = begun
    if target.person_id is not None:
        erased = erased.with_id(target.person_id)
    erased_keys.add(project.id, erased.person, now)
    erasing = Erasing(services=services, project=project, erased=erased)
    snapshot_written = needs_new_snapshot(erasing)
    read_back = _erase_elsewhere(erasing)
    receipt = _receipt(services.clock(), erased, read_back, snapshot_written=snapshot_written)
    return replace(receipt, not_reached=(EVENT_FILES,) if has_event_files(erasing) else ())


def _end_pending(services: PipelineServices, project: Project) -> list[ErasedPerson]:
    """End the erasures of a project that a killed process has begun, and return the persons."""
    with services.warehouse.cursor() as cursor:
        # Those that an earlier version began have no receipt.
        pending = [
            one if one.receipt_id else replace(one, receipt_id=new_id("ers"), actor=_UNKNOWN_ACTOR)
            for one in read_pending(cursor, project.id)
        ]
    if pending:
        # Counts the experiments from the first event on where that was not done.
        services.rollup.refresh(project.id)
    for erased in pending:
        _erase_elsewhere(Erasing(services=services, project=project, erased=erased))
    return pending


def remove_from_tables(cursor: Cursor, erased: ErasedPerson) -> None:
    """Remove a person from every table of the warehouse, in one transaction."""
    for holder in HOLDERS:
        if holder.remove is not None:
            holder.remove(cursor, erased)
    note_pending(cursor, erased)


def _erase_elsewhere(erasing: Erasing) -> tuple[ReadBack, ...]:
    """Remove a person from all other holders, and read all of them back."""
    services = erasing.services
    services.results.verdicts.note_erasure()
    for holder in HOLDERS:
        if holder.erase is not None:
            holder.erase(erasing)
    add_tombstone(erasing)
    read_back = tuple(
        ReadBack(place=holder.name, left=holder.left(erasing))
        for holder in HOLDERS
        if holder.left is not None
    )
    # While it is still noted as begun, so that a kill leaves none without its entry.
    _audit(erasing)
    with services.warehouse.transaction() as cursor:
        forget_pending(cursor, erasing.project.id)
    services.catalog.database.empty_log()
    # The log holds what was written since the last checkpoint, the note above too. That of a process which is
    # killed before it is written into the file by the next checkpoint, of a job.
    with services.snapshots.pause(), services.rollup.pause():
        services.warehouse.checkpoint_when_idle()
    return read_back


def _audit(erasing: Erasing) -> None:
    """Add the entry of an erasure, unless it has one: ended for the second time, it is the same erasure."""
    erased, catalog = erasing.erased, erasing.services.catalog
    if catalog.audit.of(erased.receipt_id):
        return
    counted = {
        "project_id": erased.project_id,
        "visitor_ids": len(erased.visitor_keys),
        "user_ids": len(erased.user_keys),
        "events": erased.events,
    }
    changes = {name: [None, value] for name, value in counted.items()}
    # Not with the request, whose transaction ends after the erasure.
    with catalog.database.apart():
        catalog.audit.add(erasing.project.account_id, erased.actor, erased.receipt_id, changes)


def _receipt(
    erased_at: datetime, erased: ErasedPerson, read_back: tuple[ReadBack, ...], *, snapshot_written: bool
) -> Receipt:
    return Receipt(
        id=erased.receipt_id,
        project_id=erased.project_id,
        erased_at=erased_at,
        visitor_ids=len(erased.visitor_keys),
        user_ids=len(erased.user_keys),
        events=erased.events,
        recounted=erased.recounted,
        sums_kept=erased.sums_kept,
        snapshot_written=snapshot_written,
        read_back=read_back,
    )
