"""Content of a backup, and its manifest: written last, so that half a backup has none."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.typed_records import record_from_json
from pipeline.encryption_key import derive_secret
from pipeline.erased_keys import FOLDER as ERASURES
from pipeline.settings import Settings
from pipeline.snapshots.files import digest_of, placed
from pipeline.store.sealed_files import require_seal, seal_object

MANIFEST: Final = "backup.json"
# In a folder from the beginning of its backup until the manifest is there.
UNFINISHED: Final = "unfinished"
CATALOG: Final = "catalog.sqlite3"
WAREHOUSE: Final = "warehouse.duckdb"
SECRETS_KEY: Final = "secrets.key"
SNAPSHOTS: Final = "snapshots"
FORMAT: Final = 1


class BackupError(Exception):
    """A backup that cannot be written or restored; what was there before is unchanged."""


class BackupFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file: its path within the backup, its size in bytes, and its SHA-256 in hex."""

    path: str
    bytes: int
    sha256: str


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a backup as of `taken_at`, with the events up to the number `last_seq`.

    `key_digest` tells whether an encryption key is the one of the store, and does not reveal it.
    """

    format: int = FORMAT
    taken_at: datetime
    last_seq: int
    key_digest: str
    files: tuple[BackupFile, ...]

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def has_secrets_key(self) -> bool:
        """Tell whether the key is in the backup, and not in the settings of its service alone."""
        return any(file.path == SECRETS_KEY for file in self.files)

    def summary(self) -> dict[str, Any]:
        """Describe the backup in plain data, for people and programs."""
        return {
            "taken_at": self.taken_at.isoformat(),
            "last_seq": self.last_seq,
            "files": len(self.files),
            "bytes": self.total_bytes,
            "has_secrets_key": self.has_secrets_key,
        }


def describe_file(folder: Path, path: Path) -> BackupFile:
    """Describe a file of a backup in `folder`."""
    name = path.relative_to(folder).as_posix()
    return BackupFile(path=name, bytes=path.stat().st_size, sha256=digest_of(path))


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest of a folder, synced and as a whole."""
    with placed(folder / MANIFEST) as draft:
        draft.write_bytes(msgspec.json.format(seal_object(msgspec.json.encode(manifest))))


def read_manifest(folder: Path) -> BackupManifest:
    """Read the manifest of a whole backup; BackupError."""
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise BackupError(f"{folder} holds no whole backup: {_why_none(folder, error)}") from error
    try:
        manifest = record_from_json(content, BackupManifest)
        require_seal(content)
    except (msgspec.MsgspecError, ValueError) as error:
        raise BackupError(f"{folder / MANIFEST} is damaged: {error}") from error
    if manifest.format > FORMAT:
        raise BackupError(f"{folder} was written by a newer version of the program; update this one")
    return manifest


def require_intact(folder: Path, manifest: BackupManifest) -> None:
    """Compare the size and the digest of every file; BackupError."""
    for file in manifest.files:
        path = folder / file.path
        if ".." in Path(file.path).parts or Path(file.path).is_absolute():
            raise BackupError(f"{folder / MANIFEST} names {file.path}, which is outside of the backup")
        try:
            is_intact = path.stat().st_size == file.bytes and describe_file(folder, path) == file
        except OSError as error:
            raise BackupError(f"the backup lacks {path}: {error.strerror}; use another one") from error
        if not is_intact:
            raise BackupError(f"{path} is not as it was written; use another backup")


def key_digest(settings: Settings) -> str:
    """Return a digest of the encryption key of the settings, which does not reveal it; SecretsKeyError."""
    return derive_secret(settings, b"backup").hex()


def copied_paths(settings: Settings) -> Iterator[Path]:
    """List the files and folders of a data folder, other than its databases, that a backup holds."""
    yield settings.command_keys_path
    yield settings.refused_events_path
    yield settings.uploads_path
    yield settings.command_imports_path
    yield settings.data_dir / "import-watermarks"
    yield settings.data_dir / ERASURES
    if settings.secrets_key is None:
        yield settings.secrets_key_path


def _why_none(folder: Path, error: OSError) -> str:
    if (folder / UNFINISHED).exists():
        return "it was not finished; remove it, and use another one"
    return f"{MANIFEST}: {error.strerror}"
