"""Opening of a whole store: a catalog with its own warehouse, or the reason why they are not one."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from pipeline.clock import utc_now
from pipeline.settings import Settings
from pipeline.store.catalog.backends import sqlite_path
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.ids import new_id
from pipeline.store.ownership.catalog_damage import catalog_damage, salvage_catalog
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.ownership.damage import DamagedStoreError
from pipeline.store.ownership.owner import Owner
from pipeline.store.ownership.warehouse_facts import UnreadableWarehouseError, read_facts
from pipeline.store.ownership.warehouse_id import read_id, write_id
from pipeline.store.ownership.warehouse_record import WarehouseRecord
from pipeline.store.ownership.warehouse_salvage import salvage_warehouse
from pipeline.store.spool.loaded_events import read_loaded_seq
from pipeline.store.spool.salvage import salvage_spool
from pipeline.store.spool.spool_facts import SpoolFacts, inspect_spool
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse

logger = logging.getLogger(__name__)


@contextmanager
def opened_store(
    settings: Settings, owner: Owner, *, accept_loss: bool = False
) -> Iterator[tuple[Catalog, Warehouse]]:
    """Open a locked catalog and its warehouse, and note the owner; a new or an older store gets an id.

    With `accept_loss`, what is missing or damaged is logged, moved aside and begun anew.

    Raises:
        CatalogError: the catalog cannot be opened.
        DamagedStoreError: a part is missing, damaged, or of another store; nothing was changed.
    """
    _require_sound_catalog(settings, accept_loss=accept_loss)
    catalog = Catalog.open(settings, accept_loss=accept_loss)
    try:
        if accept_loss:
            _save_what_can_be_read(settings.warehouse_path)
        with _told_damage(settings.warehouse_path):
            warehouse = _warehouse_of(catalog, settings, accept_loss=accept_loss)
            is_matched = False
            try:
                _match(catalog, warehouse, settings, owner, accept_loss=accept_loss)
                is_matched = True
                yield catalog, warehouse
            finally:
                # A checkpoint would remove the log, which may be all that is left of some events.
                warehouse.close(with_checkpoint=is_matched)
    finally:
        catalog.close()


def _require_sound_catalog(settings: Settings, *, accept_loss: bool) -> None:
    """Require a sound SQLite file; where the loss is accepted, make one of the rows that can be read."""
    path = sqlite_path(settings.effective_catalog_url)
    problem = catalog_damage(path) if path is not None else None
    if path is not None and problem is not None:
        _accept_or_raise(f"the catalog {path} is damaged: {problem}", accept_loss)
        salvage_catalog(path, _aside(path))


@contextmanager
def _told_damage(path: Path) -> Iterator[None]:
    """Turn errors of blocks whose checksum is wrong into DamagedStoreError."""
    try:
        yield
    except duckdb.Error as error:
        if "Corrupt database file" not in str(error):
            raise
        raise DamagedStoreError(f"the warehouse {path} is damaged ({_why(error)})") from error


def _save_what_can_be_read(path: Path) -> None:
    """Put a file with the rows that can be read in the place of a damaged one."""
    try:
        if path.exists():
            read_facts(path)
    except UnreadableWarehouseError as error:
        # Without a damaged log the file is whole.
        if "WAL" not in str(error) and salvage_warehouse(path, _aside(path)):
            message = "the warehouse %s was damaged (%s), and has the rows that could be read"
            logger.error(message, path, error)  # noqa: TRY400 - said in one line


def _warehouse_of(catalog: Catalog, settings: Settings, *, accept_loss: bool) -> Warehouse:
    """Open the warehouse; DamagedStoreError where it is missing or unreadable."""
    path = settings.warehouse_path
    log = path.with_name(f"{path.name}.wal")
    record = catalog.warehouses.find()
    is_expected = record.is_confirmed if record else bool(catalog.projects.ids())
    if not path.exists() and (is_expected or log.exists()):
        folder = f"; it was last opened in {record.folder}" if record else ""
        _accept_or_raise(f"the catalog's warehouse {path} is missing{folder}", accept_loss)
        _move_aside(log)
    try:
        return Warehouse.open(settings)
    except duckdb.Error as error:
        part = log if "WAL" in str(error) else path
        _accept_or_raise(f"the warehouse {part} is damaged ({_why(error)})", accept_loss)
        _move_aside(log)
        if part == path:
            _move_aside(path)
        return Warehouse.open(settings)


def _match(
    catalog: Catalog, warehouse: Warehouse, settings: Settings, owner: Owner, *, accept_loss: bool
) -> None:
    """Compare the ids and the newest commits, and record the owner."""
    record, found = catalog.warehouses.find(), read_id(warehouse)
    ids = [one for one in (record.id if record else None, found) if one]
    problem = _mismatch(record, found, catalog, warehouse)
    if problem:
        _accept_or_raise(problem, accept_loss)
        record = None
    warehouse_id = record.id if record else found or new_id("wh")
    spool = _require_spool(warehouse, settings.spool_path, [warehouse_id, *ids], accept_loss=accept_loss)
    _require_log(warehouse, spool, accept_loss=accept_loss)
    is_confirmed = found == warehouse_id
    folder = str(settings.data_dir.resolve())
    mine = WarehouseRecord(id=warehouse_id, folder=folder, is_confirmed=is_confirmed, owner=owner)
    catalog.warehouses.save(mine)
    if not is_confirmed:
        # In this order: where the process ends in between, the next one goes on with the same id.
        write_id(warehouse, warehouse_id)
        catalog.warehouses.save(replace(mine, is_confirmed=True))


def _mismatch(
    record: WarehouseRecord | None, found: str | None, catalog: Catalog, warehouse: Warehouse
) -> str | None:
    """Describe why catalog and warehouse are not one store; None where they are, or can become one."""
    if record is None:
        stored = events.stored_projects(warehouse)
        is_known = not stored or catalog.projects.ids() or any(map(catalog.audit.was_deleted, stored))
        if found is None and is_known:
            return None
        return (
            f"the catalog of the warehouse {warehouse.path} is missing, and another or an empty one is there"
        )
    if found == record.id or (found is None and not record.is_confirmed):
        return None
    return (
        f"the warehouse {warehouse.path} is not the catalog's, which was last opened in {record.folder} by "
        f"{record.owner}"
    )


def _require_spool(
    warehouse: Warehouse, folder: Path, warehouse_ids: Sequence[str], *, accept_loss: bool
) -> SpoolFacts:
    """Require a spool without damage, of the first of the ids; where the loss is accepted, make it one."""
    with warehouse.cursor() as cursor:
        loaded_seq = read_loaded_seq(cursor)
    if loaded_seq is None:
        loaded_seq = events.last_seq(warehouse)
    facts = inspect_spool(folder, warehouse_ids[0], loaded_seq)
    if facts.problem is None:
        return facts
    _accept_or_raise(facts.problem, accept_loss)
    salvage_spool(folder, _aside(folder), warehouse_ids, loaded_seq)
    return inspect_spool(folder, warehouse_ids[0], loaded_seq)


def _require_log(warehouse: Warehouse, spool: SpoolFacts, *, accept_loss: bool) -> None:
    """Compare the newest event with the newest acknowledged one."""
    mark = CommitMark(warehouse.path)
    newest, acknowledged = max(events.last_seq(warehouse), spool.last_seq), mark.read()
    if newest >= acknowledged:
        return
    _accept_or_raise(
        f"the log {warehouse.path}.wal or the spool is missing or damaged: {acknowledged - newest:,} "
        f"acknowledged events are in neither, and the newest is number {newest}",
        accept_loss,
    )
    with warehouse.transaction() as cursor:
        events.retire_seq(cursor, acknowledged)
    # New commits would be written behind the damaged part of the log, where no opening finds them.
    warehouse.checkpoint()


def _why(error: duckdb.Error) -> str:
    return " ".join(str(error).split("\n", maxsplit=1)[0].split())


def _accept_or_raise(problem: str, accept_loss: bool) -> None:  # noqa: FBT001 - the one thing it is about
    if not accept_loss:
        raise DamagedStoreError(problem)
    logger.error("%s; the loss is accepted, and the store goes on with what is there", problem)


def _move_aside(path: Path) -> None:
    if path.exists():
        path.rename(_aside(path))


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged-{utc_now():%Y%m%dT%H%M%SZ}")
