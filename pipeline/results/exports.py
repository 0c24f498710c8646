"""Exports of an experiment's visitors: a file of one row each, complete before it is read."""

import shutil
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.disk_space import disk_full_errors
from pipeline.results.filters import SegmentFilters
from pipeline.results.observation import published_at
from pipeline.results.outside.visitor_needs import require_visitors
from pipeline.results.results import Results
from pipeline.rollup.export_selection import exported_visitors
from pipeline.settings import Settings
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.visitor_export import Form, write_visitors

_FOLDER: Final = "exports"


class Exports:
    """Writer of export files on the store's disk: memory is bounded, and slow readers block nothing."""

    def __init__(self, warehouse: Warehouse, results: Results, settings: Settings) -> None:
        """Clear the folder of exports of the files that a killed process left."""
        self._warehouse = warehouse
        self._results = results
        self._folder = settings.data_dir / _FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)

    def visitors(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters,
        form: Form,
        *,
        now: datetime,
    ) -> BinaryIO:
        """Write the visitors who match every filter, as results count them `now`; the caller closes the file.

        The file has no name any more: it is gone once it is closed, or its process has ended. DiskFullError
        where there is no space for it, and TransitionError `needs_visitors` for sums from outside.
        """
        # Sums from outside have no visitors to export.
        filters.refuse_other()
        self._warehouse.require_space()
        is_fresh = self._results.bring_up_to_date(experiment, project)
        with disk_full_errors(), self._temporary_folder() as folder:
            path = Path(folder) / "visitors"
            with self._warehouse.transaction() as cursor:
                found = published.find(cursor, experiment.id)
                require_visitors(experiment, found, "an export")
                as_of = now if is_fresh or found is None else published_at(found)
                export = exported_visitors(
                    experiment,
                    project,
                    variants=[(variant.id, variant.name) for variant in experiment.variants],
                    goal_ids=[goal.id for goal in experiment.goals],
                    as_of=as_of,
                    segment=filters.segment,
                    is_published=found is not None,
                )
                write_visitors(cursor, export, form, path)
            return path.open("rb")

    def _temporary_folder(self) -> TemporaryDirectory[str]:
        self._folder.mkdir(parents=True, exist_ok=True)
        return TemporaryDirectory(dir=self._folder)
