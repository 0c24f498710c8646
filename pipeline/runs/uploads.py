"""Uploaded files of imports: received part by part, and kept until their run has ended."""

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from typing import IO, Final

from pipeline.disk_space import disk_full_errors, require_space
from pipeline.settings import Settings
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.ids import new_id
from pipeline.store.private_files import OWNERS_FILE, make_private_folder, remove_files, sync_folder

_PART: Final = ".part"
# Files that wait for their imports take at most so many times the limit of one: of a project, of an account.
WAITING_FILES: Final = 4
WAITING_FILES_OF_ACCOUNT: Final = 16
# Events are still taken on a disk that is too full for uploads.
DISK_MARGIN: Final = 2
# Other files are measured again after so many received bytes.
_MEASURED_BYTES: Final = 64 * 2**20


class UploadTooLargeError(Exception):
    """A file above the limit of one."""

    def __init__(self, limit: "UploadLimit") -> None:
        """Name the limit in bytes, and what to do."""
        super().__init__(f"a file may have at most {limit.most_bytes:,} bytes; {limit.remedy}")


class UploadsFullError(Exception):
    """Files of a project or an account that wait for their imports take too much room."""

    def __init__(self, owner: str, limit: int) -> None:
        """Name the owner and the limit in bytes."""
        self.retry_after = 10
        super().__init__(
            f"files of this {owner} that wait for their imports may have at most {limit:,} bytes; "
            "send this one once some are imported"
        )


@dataclass(frozen=True, slots=True)
class UploadLimit:
    """Most bytes of a file, and what to do about a larger one."""

    most_bytes: int
    remedy: str = "send it in parts, or describe it as a source"


class Upload:
    """A file that is being received; nothing of it stays unless it is kept."""

    def __init__(
        self,
        settings: Settings,
        project_id: str,
        account_projects: Collection[str] = (),
        *,
        limit: UploadLimit | None = None,
    ) -> None:
        """Begin an empty file in the project's folder, one of those of its account.

        `limit` is that of its bytes, by default that of a file of an import.
        Raises as `require_room`; OSError.
        """
        self._limit = limit or UploadLimit(settings.import_bytes)
        self._project_id = project_id
        self._folder = _folder(settings, project_id)
        self._others = [_folder(settings, one) for one in account_projects if one != project_id]
        self._path = self._folder / f"{new_id('upload')}{_PART}"
        self._settings = settings
        self._digest = hashlib.sha256()
        self.size = 0
        self.run_id: str | None = None
        self._measured_at: int | None = None
        self._waiting = (0, 0)
        self._is_kept = False
        make_private_folder(self._folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with self._of_project():
            self._file: IO[bytes] = os.fdopen(os.open(self._path, flags, OWNERS_FILE), "wb")

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    @property
    def sha256(self) -> str:
        """Digest of the content in hexadecimal digits."""
        return self._digest.hexdigest()

    def require_room(self, more_bytes: int) -> None:
        """Require room for so many bytes.

        Raises:
            UploadTooLargeError: the file has too many with them.
            UploadsFullError: those that wait have.
            DiskFullError: the disk has too little space.
            NotFoundError: the project was deleted meanwhile.
        """
        limit = self._settings.import_bytes
        size = self.size + more_bytes
        if size > self._limit.most_bytes:
            raise UploadTooLargeError(self._limit)
        if self._measured_at is None or self.size >= self._measured_at + _MEASURED_BYTES:
            self._measure()
        of_project, of_account = self._waiting
        if of_project + size > WAITING_FILES * limit:
            raise UploadsFullError("project", WAITING_FILES * limit)
        if of_account + size > WAITING_FILES_OF_ACCOUNT * limit:
            raise UploadsFullError("account", WAITING_FILES_OF_ACCOUNT * limit)
        with self._of_project():
            require_space(self._folder, DISK_MARGIN * self._settings.min_free_disk_bytes + more_bytes)

    def _measure(self) -> None:
        """Measure the other files of the project and of the account."""
        of_project = _bytes_in(self._folder, except_for=self._path.name)
        self._waiting = (of_project, of_project + sum(map(_bytes_in, self._others)))
        self._measured_at = self.size

    @contextmanager
    def _of_project(self) -> Iterator[None]:
        """Turn the error of a folder that was removed into that of a deleted project."""
        try:
            yield
        except FileNotFoundError as error:
            raise NotFoundError("project", self._project_id) from error

    def write(self, part: bytes) -> None:
        """Append a part; raises as `require_room`."""
        self.require_room(len(part))
        with disk_full_errors():
            self._file.write(part)
            self._file.flush()
        self._digest.update(part)
        self.size += len(part)

    def place(self, run_id: str, suffix: str) -> None:
        """Sync the file where a run finds it; raises as `require_room`."""
        self._measured_at = None
        self.require_room(0)
        with disk_full_errors(), self._of_project():
            os.fsync(self._file.fileno())
            self._path = self._path.replace(self._folder / f"{run_id}{suffix}")
            sync_folder(self._folder)
        self.run_id = run_id

    def keep(self) -> None:
        """Leave the file to its run."""
        self._is_kept = True

    def discard(self) -> None:
        """Remove the file at the end after all, as no run waits for it."""
        self._is_kept = False

    def close(self) -> None:
        """Close the file, and remove it unless it is kept."""
        self._file.close()
        if not self._is_kept:
            self._path.unlink(missing_ok=True)


def uploaded_file(settings: Settings, project_id: str, run_id: str, suffix: str) -> Path:
    """Return the path of the file that is kept for a run."""
    return _folder(settings, project_id) / f"{run_id}{suffix}"


def remove_upload(settings: Settings, project_id: str, run_id: str) -> None:
    """Remove the file that was kept for a run, if there is one."""
    for path in _folder(settings, project_id).glob(f"{run_id}.*"):
        path.unlink(missing_ok=True)


def projects_with_uploads(settings: Settings) -> set[str]:
    """Return the ids of projects that have a folder of uploaded files."""
    return {path.name for path in settings.uploads_path.glob("*") if path.is_dir()}


def remove_uploads(settings: Settings, project_id: str) -> None:
    """Remove the files of a project."""
    rmtree(_folder(settings, project_id), ignore_errors=True)


def remove_left_uploads(
    settings: Settings, awaited: Collection[str], *, before: datetime | None = None
) -> None:
    """Remove files of which a killed process left a part, and those of runs that are not awaited any more.

    Where uploads may be under way, only those last written `before` a time.
    """
    files = settings.uploads_path.glob("*/*")
    remove_files((path for path in files if path.stem not in awaited), before=before)


def _folder(settings: Settings, project_id: str) -> Path:
    return settings.uploads_path / project_id


def _bytes_in(folder: Path, except_for: str = "") -> int:
    """Measure the files of a folder without those that go meanwhile, and but for one of them."""
    total = 0
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                total += 0 if entry.name == except_for else entry.stat().st_size
    return total
