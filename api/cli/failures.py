"""Which failures a person at the terminal can act on: they get a sentence, not a traceback."""

from engine.errors import EngineError
from pipeline.snapshot_manifest import UnreadableSnapshotError
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.warehouse import WarehouseBusyError
from pipeline.table_files import UnreadableFileError


class CommandError(Exception):
    """What was asked of a command cannot be done as asked."""


EXPECTED_FAILURES = (
    CommandError,
    EngineError,
    CatalogError,
    WarehouseBusyError,
    UnreadableFileError,
    UnreadableSnapshotError,
)
