"""Snapshots of projects: Parquet files that are readable while the service runs."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import is_clustered
from pipeline.clock import utc_now
from pipeline.disk_space import disk_full_errors, require_space
from pipeline.settings import Settings
from pipeline.snapshots.experiments import write_experiment
from pipeline.snapshots.files import digest_of, placed, sweep
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
from pipeline.store.private_files import make_private_folder
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.events import COLUMNS_DIGEST
from pipeline.store.warehouse.parquet import EVENTS_A_FILE, event_ranges, write_events
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.visitors import has_units

logger = logging.getLogger(__name__)


class SnapshotStoppedError(Exception):
    """The service is stopping; the previous snapshot stays."""


class Snapshots:
    """Writer of projects' snapshots, one at a time, for all threads.

    A project's snapshot is a folder with a manifest and the files that it names. Files never change, and
    unchanged ones are used again; the manifest is replaced at the very end.
    """

    def __init__(  # noqa: PLR0913 # three services; the rest has defaults
        self,
        warehouse: Warehouse,
        catalog: Catalog,
        settings: Settings,
        *,
        folder: Path | None = None,
        clock: Callable[[], datetime] = utc_now,
        events_a_file: int = EVENTS_A_FILE,
        load_events: Callable[[float | None], bool] = lambda _seconds: True,
    ) -> None:
        """Write into `folder`, by default that of the settings, after `load_events`."""
        self.folder = folder or settings.snapshots_path
        self._warehouse = warehouse
        self._catalog = catalog
        self._clock = clock
        self._min_free_bytes = settings.min_free_disk_bytes
        self._events_a_file = events_a_file
        self._load_events = load_events
        self._writing = threading.Lock()
        self._stopping = False

    def write(self, project_id: str, *, keep_former: bool = True) -> Manifest:
        """Write a project's snapshot, as of one transaction, and return its manifest.

        The files of the former one stay for readers who have begun with it, unless `keep_former` is false.

        On failure, as on a full disk, exactly the previous snapshot stays. Raises NotFoundError,
        SnapshotStoppedError, DiskFullError, and the errors of disk and store.
        """
        with self._writing, disk_full_errors():
            # Found under the lock: once a project is deleted, nothing of it is written again.
            project = self._catalog.projects.find(project_id)
            folder = self.folder / project_id
            before = _manifest_in(folder)
            make_private_folder(folder)
            # Files that a killed process left.
            sweep(folder, _kept(before))
            require_space(folder, self._min_free_bytes)
            try:
                manifest = self._write(project, folder, before)
                if not keep_former:
                    manifest = replace(manifest, retired=())
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
            # Without a manifest readers find no snapshot, rather than part of one.
            (folder / MANIFEST).unlink(missing_ok=True)
            sweep(folder, ())
            folder.rmdir()

    def stored_projects(self) -> list[str]:
        """List the ids of projects with a snapshot, or a part of one."""
        if not self.folder.is_dir():
            return []
        return sorted(one.name for one in self.folder.iterdir() if one.is_dir())

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Wait for the current snapshot to end, and start no other inside the block."""
        with self._writing:
            yield

    def close(self) -> None:
        """Stop the current snapshot, and write no other."""
        self._stopping = True

    def _write(self, project: Project, folder: Path, before: Manifest | None) -> Manifest:
        files = _Files(folder, before, self._clock().date(), lambda: self._stopping)
        experiments = self._catalog.experiments.of_project(project.id)
        # Read before the results, which then contain all that the looks were taken of.
        looks = {one.id: self._catalog.recorded_looks.of(one.id) for one in experiments}
        # The time of the content: writing it may take minutes.
        taken_at = self._clock()
        self._load_events(None)
        with self._warehouse.transaction() as cursor:
            events = tuple(self._events(cursor, project.id, files))
            published = [
                (experiment, record)
                for experiment in experiments
                if (record := published_rollups.find(cursor, experiment.id))
                and _has_rows(cursor, experiment, record)
            ]
            results: tuple[SnapshotExperiment, ...] = tuple(
                write_experiment(
                    cursor, experiment, project, record, looks=looks[experiment.id], place=files.place
                )
                for experiment, record in published
            )
        manifest = Manifest(
            project_id=project.id,
            project_name=project.name,
            timezone=project.timezone,
            currency=project.revenue_currency,
            taken_at=taken_at,
            last_seq=max((file.last_seq for file in events), default=0),
            events=events,
            experiments=results,
        )
        return _retiring(manifest, before)

    def _events(self, cursor: Cursor, project_id: str, files: "_Files") -> Iterator[EventFile]:
        for events in event_ranges(cursor, project_id, events_a_file=self._events_a_file):
            file = files.place(
                f"events/{events.first_seq:015d}-{events.last_seq:015d}.parquet",
                f"{events.content:016x}-{COLUMNS_DIGEST}",
                partial(write_events, cursor, project_id, events),
            )
            yield EventFile(**asdict(file), first_seq=events.first_seq, last_seq=events.last_seq)


@dataclass(frozen=True, slots=True)
class _Files:
    """Files of a new snapshot; unchanged files of the one `before` are used again."""

    folder: Path
    before: Manifest | None
    today: date
    is_stopping: Callable[[], bool]
    _known: dict[str, DataFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for file in self.before.files if self.before else ():
            if self._is_whole(file):
                self._known[file.path] = file

    def place(self, path: str, content: str, write: Callable[[Path], int]) -> DataFile:
        """Return the file at `path`, written unless it exists with the same content."""
        known = self._known.get(path)
        if known is not None and known.content == content:
            return DataFile(
                path=path, rows=known.rows, bytes=known.bytes, content=content, sha256=known.sha256
            )
        if self.is_stopping():
            raise SnapshotStoppedError
        with placed(self.folder / path) as draft:
            rows, size = write(draft), draft.stat().st_size
            digest = digest_of(draft)
        return DataFile(path=path, rows=rows, bytes=size, content=content, sha256=digest)

    def _is_whole(self, file: DataFile) -> bool:
        """Tell whether a file is there as it was written; one without a digest is written again, once."""
        path = self.folder / file.path
        if file.sha256 is None or not path.is_file():
            return False
        # Every day anew, since a disk may lose what it has stored.
        if digest_of(path, self.today) == file.sha256:
            return True
        logger.error("%s is damaged, and written again", path)
        return False


def _has_rows(cursor: Cursor, experiment: Experiment, published: Published) -> bool:
    """Tell whether there are rows of the visitors that an experiment compares.

    Sums from outside have none, and what was counted for another unit tells nothing of this one.
    """
    return published.sums_from is None and has_units(cursor, experiment.id) == is_clustered(experiment.unit)


def _manifest_in(folder: Path) -> Manifest | None:
    """Read the manifest in a folder; None without a readable one."""
    try:
        return read_manifest(folder)
    except UnreadableSnapshotError:
        return None


def _kept(manifest: Manifest | None) -> set[str]:
    """List the paths to keep, within the project's folder."""
    return {MANIFEST, *manifest.paths, *manifest.retired} if manifest else set()


def _retiring(manifest: Manifest, before: Manifest | None) -> Manifest:
    """Add the paths that only the previous snapshot has, as `retired`."""
    if before is None:
        return manifest
    return replace(manifest, retired=tuple(sorted(before.paths - manifest.paths)))
