"""Lock of a store: one process owns its warehouse and its catalog, until it ends."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from engine.typed_records import record_from_json
from pipeline.settings import Settings
from pipeline.store.catalog.backends import opening_error, parse_url, sqlite_path
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.ownership.file_lock import FileLock, LockHeldError, note_of_holder
from pipeline.store.ownership.owner import Owner
from pipeline.store.ownership.session_lock import SessionLock, SessionLockHeldError
from pipeline.store.ownership.warehouse_record import Warehouses
from pipeline.store.private_files import FolderError, make_private_folder

# A process that was killed a moment ago may still hold its locks.
WAIT_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.02
_SUFFIX: Final = ".lock"
_SESSION_LOCK: Final = "truelift: owner of the catalog"

T = TypeVar("T")


class StoreOwnedError(Exception):
    """Another process owns the warehouse or the catalog; nothing was changed."""

    def __init__(self, part: str, owner: Owner | None) -> None:
        """Name the part of the store, and its owner as far as it is known."""
        self.owner = owner
        super().__init__(
            f"{part} is in use by {owner or 'another process'}, most likely `truelift serve`: "
            "ask that service over its API, stop it first, or use another data folder"
        )


class OwnershipLostError(Exception):
    """This process does not own the store any more."""


class StoreLock:
    """The locks of a warehouse and of its catalog, held until `release` or the end of the process."""

    def __init__(self, owner: Owner, files: tuple[FileLock, ...], session: SessionLock | None) -> None:
        """Take over held locks; use `StoreLock.take` instead."""
        self.owner = owner
        self._files = files
        self._session = session

    @classmethod
    def take(cls, settings: Settings) -> Self:
        """Lock the store of the settings for this process.

        Raises:
            StoreOwnedError: another process owns the warehouse or the catalog.
            CatalogError: the catalog's database cannot be reached.
            FolderError: the data folder cannot be created or written to.
        """
        owner = Owner.this_process()
        url = settings.effective_catalog_url
        with ExitStack() as stack:
            files = []
            for path in filter(None, (settings.warehouse_path, sqlite_path(url))):
                files.append(_lock_file(path, owner))
                stack.callback(files[-1].release)
            session = _session(url) if parse_url(url).get_backend_name() == "postgresql" else None
            stack.pop_all()
        return cls(owner, tuple(files), session)

    def note_address(self, address: str) -> None:
        """Note the URL at which this process takes requests, for commands on the same folder; OSError."""
        self.owner = replace(self.owner, address=address)
        for lock in self._files:
            lock.write_note(msgspec.json.encode(self.owner))

    def require_files(self) -> None:
        """Raise OwnershipLostError where a lock file is gone, with the store it stood beside."""
        for lock in self._files:
            if not lock.is_in_place():
                raise OwnershipLostError(f"{lock.path} was removed or replaced while the store was in use")

    def renew(self) -> bool:
        """Confirm the lock on PostgreSQL; True where its connection was lost and it had to be taken again.

        Raises:
            OwnershipLostError: another process took over the catalog.
            CatalogError: the server does not answer.
        """
        try:
            return self._session is not None and self._session.renew()
        except SQLAlchemyError as error:
            raise opening_error(error) from error
        except SessionLockHeldError as error:
            raise OwnershipLostError("another process took over the catalog") from error

    def release(self) -> None:
        """Release every lock."""
        for lock in self._files:
            lock.release()
        if self._session is not None:
            self._session.release()


@contextmanager
def locked_store(settings: Settings) -> Iterator[StoreLock]:
    """Hold the lock of the store inside the block; StoreOwnedError, CatalogError."""
    lock = StoreLock.take(settings)
    try:
        yield lock
    finally:
        lock.release()


def find_owner(settings: Settings) -> Owner | None:
    """Find the process that owns the warehouse of the settings; None where none does, or none is known."""
    try:
        note = note_of_holder(_lock_path(settings.warehouse_path))
    except OSError:
        return None
    return None if note is None else _owner_from(note)


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + _SUFFIX)


def _lock_file(path: Path, owner: Owner) -> FileLock:
    lock_path = _lock_path(path)
    note = msgspec.json.encode(owner)
    try:
        make_private_folder(path.parent)
        return _waiting(lambda: FileLock.take(lock_path, note), LockHeldError)
    except LockHeldError as error:
        raise StoreOwnedError(str(path), _owner_from(error.note)) from error
    except OSError as error:
        raise FolderError(path.parent, error) from error


def _session(url: str) -> SessionLock:
    try:
        return _waiting(lambda: SessionLock(parse_url(url), _SESSION_LOCK), SessionLockHeldError)
    except SessionLockHeldError as error:
        raise StoreOwnedError("the catalog on PostgreSQL", _recorded_owner(url)) from error
    except SQLAlchemyError as error:
        raise opening_error(error) from error


def _waiting(take: Callable[[], T], held: type[Exception]) -> T:
    """Take a lock, and try again for a moment while it is held."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return take()
        except held:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)


def _owner_from(note: bytes) -> Owner | None:
    try:
        return record_from_json(note, Owner)
    except msgspec.MsgspecError:
        return None


def _recorded_owner(url: str) -> Owner | None:
    database = Database(url)
    try:
        record = Warehouses(database).find()
    except (CatalogBusyError, SQLAlchemyError):
        # The owner may be about to create the tables.
        return None
    finally:
        database.close()
    return record.owner if record else None
