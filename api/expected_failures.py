"""Expected failures: mistakes of users and states of the system, each told in one sentence."""

import sys
from collections.abc import Iterator
from typing import Final

# Failures that are reported in one sentence, by module.
EXPECTED_FAILURES: Final = {
    "api.cli.console": "CommandError",
    "engine.errors": "EngineError",
    "pipeline.backup_manifest": "BackupError",
    "pipeline.disk_space": "DiskFullError",
    "pipeline.distributed.event_files": "UnusableEventsError",
    "pipeline.distributed.executor_versions": "ExecutorVersionsError",
    "pipeline.distributed.output": "UnusableOutputError",
    "pipeline.distributed.process_pool": "WorkerEndedError",
    "pipeline.distributed.spark_cluster": "SparkFailedError",
    "pipeline.events.request_headers.location": "LocationFileError",
    "pipeline.encryption_key": "SecretsKeyError",
    "pipeline.imports.imported_experiment": "ImportRefusedError",
    "pipeline.sources.definition_files": "InvalidSourceError",
    "pipeline.sources.tables": "UnreadableSourceError",
    "pipeline.settings": "SettingsError",
    "pipeline.snapshots.hourly_events": "EventFilesError",
    "pipeline.snapshots.manifest": "UnreadableSnapshotError",
    "pipeline.store.catalog.errors": "CatalogError",
    "pipeline.store.ownership.damage": "DamagedStoreError",
    "pipeline.store.ownership.store_lock": "StoreOwnedError",
    "pipeline.store.private_files": "FolderError",
    "pipeline.store.warehouse.connection": "WarehouseBusyError",
    "pipeline.store.warehouse.connections.errors": "WarehouseUnavailableError",
}


def is_expected(failure: BaseException) -> bool:
    """Return whether a failure is of the table; a group, whether all of its failures are."""
    # A module that is not loaded has raised nothing, and most are slow to import.
    kinds = tuple(
        getattr(sys.modules[module], name)
        for module, name in EXPECTED_FAILURES.items()
        if module in sys.modules
    )
    return all(isinstance(one, kinds) for one in single_failures(failure))


def single_failures(failure: BaseException) -> Iterator[BaseException]:
    """Yield the failures of a group, or the one."""
    if isinstance(failure, BaseExceptionGroup):
        for one in failure.exceptions:
            yield from single_failures(one)
    else:
        yield failure
