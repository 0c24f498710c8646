"""Services of the pipeline: the open store, and what works on it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from shutil import rmtree
from threading import Lock

from engine.design.units import unit_attribute
from pipeline.clock import utc_now
from pipeline.erased_keys import remove_erasures
from pipeline.ingest.ingest import Ingest
from pipeline.lanes import Lanes
from pipeline.results.due_looks import DueLooks
from pipeline.results.kept_findings import KeptFindings
from pipeline.results.nightly_interactions import NightlyInteractions
from pipeline.results.nights import Nights
from pipeline.results.results import Results
from pipeline.results.second_exposures import SecondExposures
from pipeline.results.verdict_keeper import VerdictKeeper
from pipeline.rollup.run import Rollup
from pipeline.runs.import_work import import_run, remove_import_files, remove_left_imports
from pipeline.runs.night_work import rebuild_run
from pipeline.runs.run_work import run_work
from pipeline.runs.runner import Runner
from pipeline.settings import Settings
from pipeline.snapshots.writer import Snapshots
from pipeline.sources.watermarks import remove_watermarks
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.ownership.opening import opened_store
from pipeline.store.ownership.store_lock import StoreLock, locked_store
from pipeline.store.private_files import hide_new_files, restrict
from pipeline.store.warehouse.connection import Warehouse
from pipeline.upgrade_backup import back_up_before_migration

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineServices:
    """Everything that works on one data folder, in this process; `clock` returns the time, aware."""

    settings: Settings
    lock: StoreLock
    catalog: Catalog
    warehouse: Warehouse
    ingest: Ingest
    rollup: Rollup
    results: Results
    due_looks: DueLooks
    ramp_findings: KeptFindings
    nights: Nights
    interactions: NightlyInteractions
    snapshots: Snapshots
    runner: Runner
    # Held by the one erasure of a person at a time, and while reports of a night are kept.
    erasing: Lock = field(default_factory=Lock)
    # Messages to webhooks, by account.
    lanes: Lanes = field(default_factory=Lanes)
    clock: Callable[[], datetime] = utc_now


@contextmanager
def open_pipeline(
    settings: Settings,
    *,
    lock: StoreLock | None = None,
    accept_loss: bool = False,
    clock: Callable[[], datetime] = utc_now,
) -> Iterator[PipelineServices]:
    """Open the catalog and the warehouse and start ingest; stop and close them in reverse order at the end.

    The store is locked here unless the caller holds its `lock` already. With `accept_loss`, a missing or
    damaged part is begun anew.

    Raises:
        StoreOwnedError: another process owns the warehouse or the catalog.
        CatalogError: the catalog cannot be opened.
        BackupError: the copy of a store of an earlier version is not as the store.
        DiskFullError: there is no room for that copy.
        DamagedStoreError: a part of the store is missing, damaged, or of another store.
    """
    with ExitStack() as stack:
        lock = lock or stack.enter_context(locked_store(settings))
        hide_new_files()
        restrict(_stored_paths(settings))
        back_up_before_migration(settings, now=clock())
        catalog, warehouse = stack.enter_context(opened_store(settings, lock.owner, accept_loss=accept_loss))
        stack.callback(_write_refused_keys, catalog)
        # A killed import left them.
        rmtree(settings.staged_imports_path, ignore_errors=True)
        ingest = Ingest(warehouse, settings)
        ingest.listen_forget(partial(remove_watermarks, settings.data_dir))
        ingest.listen_forget(partial(remove_erasures, settings.data_dir))
        ingest.keep_custom_keys(partial(_unit_attributes, catalog))
        ingest.start()
        stack.callback(ingest.stop)
        rollup = Rollup(
            warehouse,
            catalog,
            settings,
            last_seq_of=ingest.last_seq_of,
            load_events=ingest.load,
            clock=clock,
        )
        stack.callback(rollup.close)
        snapshots = Snapshots(warehouse, catalog, settings, clock=clock, load_events=ingest.load)
        stack.callback(snapshots.close)
        # Runs that are under way by their records were those of a process that has ended.
        catalog.runs.recover(now=clock())
        remove_left_imports(settings, catalog.runs.all_unended())
        runner = Runner(catalog, run_work(warehouse, rollup, snapshots), clock=clock)
        stack.callback(runner.close)
        verdicts = VerdictKeeper(catalog.kept_verdicts)
        results = Results(warehouse, rollup, catalog, settings, verdicts)
        services = PipelineServices(
            settings=settings,
            lock=lock,
            catalog=catalog,
            warehouse=warehouse,
            ingest=ingest,
            rollup=rollup,
            results=results,
            due_looks=DueLooks(results, rollup, catalog.recorded_looks),
            ramp_findings=KeptFindings(results, rollup, catalog.recorded_looks),
            nights=Nights(
                warehouse, results, SecondExposures(warehouse, rollup, at_once=settings.rollup_bucket_events)
            ),
            interactions=NightlyInteractions(warehouse, rollup.publications),
            snapshots=snapshots,
            runner=runner,
            clock=clock,
        )
        stack.callback(services.lanes.close)
        runner.add_work("rebuild", partial(rebuild_run, services))
        runner.add_work("import", partial(import_run, services), partial(remove_import_files, settings))
        yield services


def _stored_paths(settings: Settings) -> Iterator[Path]:
    """List the folder of the store, its files and its folders with theirs."""
    yield settings.data_dir
    yield settings.secrets_key_path
    yield settings.command_keys_path
    yield from settings.data_dir.glob(f"{settings.warehouse_path.name}*")
    yield from settings.data_dir.glob("catalog.sqlite3*")
    yield from settings.data_dir.glob(f"{settings.spool_path.name}*")
    for folder in (
        settings.spool_path,
        settings.refused_events_path,
        settings.assignments_path,
        settings.event_keys_path,
        settings.uploads_path,
        settings.command_imports_path,
        settings.snapshots_path,
    ):
        if folder.is_dir():
            yield folder
            yield from folder.rglob("*")


def _write_refused_keys(catalog: Catalog) -> None:
    """Tell the audit trails of keys that were refused since the job's last run."""
    try:
        catalog.refused_keys.write()
    except CatalogBusyError:
        logger.warning("the audit trail lacks keys that were refused last: the catalog was busy")


def _unit_attributes(catalog: Catalog, project_id: str) -> set[str]:
    """Return the attributes that experiments of a project assign by."""
    keys = (unit_attribute(one.unit) for one in catalog.experiments.of_project(project_id))
    return {key for key in keys if key is not None}
