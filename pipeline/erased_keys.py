"""Keyed hashes of erased persons: imports leave out their rows from before the erasure.

The hashes tell nothing without the store's encryption key. A row from after the erasure is of a new visitor.
"""

import hashlib
import os
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from engine.local_days import epoch_microseconds
from engine.typed_records import record_from_json
from pipeline.encryption_key import derive_secret
from pipeline.settings import Settings
from pipeline.store.private_files import OWNERS_FILE, make_private_folder, sync_folder
from pipeline.store.sealed_files import seal, unseal
from pipeline.store.warehouse.erasure.person_ids import PersonIds

FOLDER: Final = "erasures"
_HASH_BYTES: Final = 16
# Hexadecimal digits of a hash by which all but one of 65,536 keys are told from an erased one.
_BUCKET_DIGITS: Final = 4
_KINDS: Final = ("visitor", "user")
# By the hash of each id, the time of its last erasure (epoch µs).
Erasures = Mapping[str, int]


class ErasedKeys:
    """The erased persons of the projects of one store."""

    def __init__(self, settings: Settings) -> None:
        """Read with the store's key; SecretsKeyError."""
        self._folder = settings.data_dir / FOLDER
        self._secret = derive_secret(settings, b"erasures")
        self._factor = np.uint64(int.from_bytes(derive_secret(settings, b"erasure buckets")[:8]) | 1)

    def add(self, project_id: str, person: PersonIds, at: datetime) -> None:
        """Note the ids of a person as erased; OSError."""
        keys = [("visitor", key) for key in person.visitor_keys] + [("user", key) for key in person.user_keys]
        new = {self.hash(project_id, kind, key): epoch_microseconds(at) for kind, key in keys}
        _write(self._folder, project_id, {**self.of(project_id), **new})

    def of(self, project_id: str) -> Erasures:
        """Read the erasures of a project."""
        return _read(_path(self._folder, project_id))

    def hash(self, project_id: str, kind: str, key: int) -> str:
        """Hash the key of an id of a kind, after the number of its bucket."""
        (bucket,) = self._buckets(pl.Series([key], dtype=pl.UInt64))
        content = f"{project_id}:{kind}:{key}".encode()
        digest = hashlib.blake2b(content, digest_size=_HASH_BYTES, key=self._secret).hexdigest()
        return f"{bucket:04x}{digest}"

    def erased_at(self, project_id: str, kind: str, keys: pl.Series) -> pl.Series:
        """Return when the id with each key was erased last (epoch µs); null for one that was not."""
        erasures = self.of(project_id)
        distinct = keys.drop_nulls().unique()
        buckets = np.array([int(one[:_BUCKET_DIGITS], 16) for one in erasures], np.uint64)
        # To hash each of a million keys takes seconds.
        near = distinct.filter(pl.Series(np.isin(self._buckets(distinct), buckets), dtype=pl.Boolean))
        found = {
            key: at for key in near if (at := erasures.get(self.hash(project_id, kind, key))) is not None
        }
        return keys.replace_strict(found, default=None, return_dtype=pl.Int64)

    def _buckets(self, keys: pl.Series) -> npt.NDArray[np.uint64]:
        """Number the buckets of keys by the first bits of their products with a secret factor."""
        return keys.to_numpy() * self._factor >> np.uint64(64 - 4 * _BUCKET_DIGITS)

    def precede(self, project_id: str, rows: pl.DataFrame, happened_at: str) -> pl.Series:
        """Tell which rows are of a person who was erased since; rows without a time are, too.

        `rows` has `visitor_key`, `user_key` where there are users, and the time of the row (epoch µs), null
        where it has none.
        """
        if not self.of(project_id):
            return pl.Series([False]).new_from_index(0, rows.height)
        times = rows[happened_at].fill_null(0)
        columns = [kind for kind in _KINDS if f"{kind}_key" in rows.columns]
        erased = pl.DataFrame(
            {kind: self.erased_at(project_id, kind, rows[f"{kind}_key"]) for kind in columns}
        )
        return erased.select((pl.max_horizontal(columns) > times).fill_null(value=False)).to_series()


def copy_erasures(source: Path, target: Path) -> None:
    """Add the erasures of another data folder, or of a backup, to those of a data folder; OSError."""
    for path in sorted((source / FOLDER).glob("*.json")):
        known, added = _read(_path(target / FOLDER, path.stem)), _read(path)
        latest = {one: max(at, known.get(one, at)) for one, at in added.items()}
        _write(target / FOLDER, path.stem, {**known, **latest})


def remove_erasures(data_dir: Path, project_id: str) -> None:
    """Remove the erasures of a project that was deleted."""
    _path(data_dir / FOLDER, project_id).unlink(missing_ok=True)


def _read(path: Path) -> Erasures:
    try:
        state = path.stat()
    except FileNotFoundError:
        return {}
    return _read_once(path, (state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=256)
def _read_once(path: Path, _state: tuple[int, ...]) -> Erasures:
    """Read a file once in each of its states."""
    return record_from_json(unseal(path.read_bytes()), dict[str, int])


def _write(folder: Path, project_id: str, erasures: Erasures) -> None:
    make_private_folder(folder)
    path = _path(folder, project_id)
    new = path.with_suffix(".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_FILE), "wb") as file:
        file.write(seal(msgspec.json.encode(erasures)))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(folder)


def _path(folder: Path, project_id: str) -> Path:
    return folder / f"{project_id}.json"
