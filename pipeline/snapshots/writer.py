"""Copies of what is stored, as files that anyone may read while the service goes on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.run_each import run_each
from pipeline.settings import Settings
from pipeline.snapshots.experiments import write_experiment
from pipeline.snapshots.files import make_folder, placed, sweep
from pipeline.snapshots.manifest import (
    MANIFEST,
    DataFile,
    EventFile,
    Manifest,
    SnapshotExperiment,
    UnreadableSnapshotError,
    read_manifest,
    write_manifest,
)
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.parquet import EVENTS_A_FILE, event_ranges, write_events


class SnapshotStoppedError(Exception):
    """The service is stopping: the snapshot before this one stays."""


class Snapshots:
    """Writes and removes projects' snapshots, one at a time, whoever asks.

    A project's is a folder with a manifest and the files that it names. Files never change, so what has not
    changed since the last snapshot is not written again; the manifest is replaced at the very end.
    """

    def __init__(  # noqa: PLR0913 # what it works with; the rest has defaults
        self,
        warehouse: Warehouse,
        catalog: Catalog,
        settings: Settings,
        *,
        folder: Path | None = None,
        clock: Callable[[], datetime] = utc_now,
        events_a_file: int = EVENTS_A_FILE,
    ) -> None:
        """Write into `folder`, or where the settings say."""
        self.folder = folder or settings.snapshots_path
        self._warehouse = warehouse
        self._catalog = catalog
        self._clock = clock
        self._events_a_file = events_a_file
        self._writing = threading.Lock()
        self._stopping = False

    def write_all(self) -> None:
        """Write every project's; ExceptionGroup of what went wrong, after all have had their turn."""
        run_each(
            {
                f"project {project.id}": partial(self._write_if_there, project.id)
                for project in self._catalog.projects.all()
            }
        )

    def write(self, project_id: str) -> Manifest:
        """Write a project's snapshot: what one transaction sees of it. Returns what it consists of.

        Where that fails, as when the disk is full, the one before stays, and nothing else does.
        Raises NotFoundError, SnapshotStoppedError and what disk and store raise.
        """
        with self._writing:
            # Asked for inside: once a project is deleted, nothing of it is written again.
            project = self._catalog.projects.find(project_id)
            folder = self.folder / project_id
            before = _manifest_in(folder)
            make_folder(folder)
            # What a killed process left.
            sweep(folder, _kept(before))
            try:
                manifest = self._write(project, folder, before)
                write_manifest(folder, manifest)
            except BaseException:
                sweep(folder, _kept(before))
                raise
            sweep(folder, _kept(manifest))
            return manifest

    def forget(self, project_id: str) -> None:
        """Remove a project's snapshot."""
        with self._writing:
            folder = self.folder / project_id
            # Whoever comes now finds no snapshot, and not half of one.
            (folder / MANIFEST).unlink(missing_ok=True)
            sweep(folder, ())
            folder.rmdir()

    def stored_projects(self) -> list[str]:
        """The id of every project that has a snapshot, or some of one."""
        if not self.folder.is_dir():
            return []
        return sorted(one.name for one in self.folder.iterdir() if one.is_dir())

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let no snapshot begin inside, once the one under way has ended."""
        with self._writing:
            yield

    def close(self) -> None:
        """Give up the snapshot that is under way, and write no other."""
        self._stopping = True

    def _write_if_there(self, project_id: str) -> None:
        # A project that is deleted meanwhile has no snapshot to be missed.
        with suppress(NotFoundError, SnapshotStoppedError):
            self.write(project_id)

    def _write(self, project: Project, folder: Path, before: Manifest | None) -> Manifest:
        files = _Files(folder, before, lambda: self._stopping)
        experiments = self._catalog.experiments.of_project(project.id)
        with self._warehouse.transaction() as cursor:
            events = tuple(self._events(cursor, project.id, files))
            published = [
                (one, found) for one in experiments if (found := published_rollups.find(cursor, one.id))
            ]
            results: tuple[SnapshotExperiment, ...] = tuple(
                write_experiment(cursor, one, project, found, files.place) for one, found in published
            )
        manifest = Manifest(
            project_id=project.id,
            project_name=project.name,
            timezone=project.timezone,
            currency=project.revenue_currency,
            taken_at=self._clock(),
            last_seq=max((file.last_seq for file in events), default=0),
            events=events,
            experiments=results,
        )
        return _retiring(manifest, before)

    def _events(self, cursor: Cursor, project_id: str, files: "_Files") -> Iterator[EventFile]:
        for found in event_ranges(cursor, project_id, events_a_file=self._events_a_file):
            file = files.place(
                f"events/{found.first_seq:015d}-{found.last_seq:015d}.parquet",
                f"{found.content:016x}",
                partial(write_events, cursor, project_id, found),
            )
            yield EventFile(**asdict(file), first_seq=found.first_seq, last_seq=found.last_seq)


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a snapshot in the making: those of the one `before` are used again where they can be."""

    folder: Path
    before: Manifest | None
    is_stopping: Callable[[], bool]
    _known: dict[str, DataFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for file in self.before.files if self.before else ():
            path = self.folder / file.path
            if path.is_file() and path.stat().st_size == file.bytes:
                self._known[file.path] = file

    def place(self, path: str, content: str, write: Callable[[Path], int]) -> DataFile:
        """The file at `path`, written unless it is there with the same content."""
        known = self._known.get(path)
        if known is not None and known.content == content:
            return DataFile(path=path, rows=known.rows, bytes=known.bytes, content=content)
        if self.is_stopping():
            raise SnapshotStoppedError
        with placed(self.folder / path) as draft:
            rows, size = write(draft), draft.stat().st_size
        return DataFile(path=path, rows=rows, bytes=size, content=content)


def _manifest_in(folder: Path) -> Manifest | None:
    """What is there to go on from; None where nothing is, or nothing that can be read."""
    try:
        return read_manifest(folder)
    except UnreadableSnapshotError:
        return None


def _kept(manifest: Manifest | None) -> set[str]:
    """The paths that stay, within the project's folder."""
    return {MANIFEST, *manifest.paths, *manifest.retired} if manifest else set()


def _retiring(manifest: Manifest, before: Manifest | None) -> Manifest:
    """With what the snapshot before this one consisted of, and this one does not."""
    if before is None:
        return manifest
    return replace(manifest, retired=tuple(sorted(before.paths - manifest.paths)))
