"""Delta and Iceberg tables, each read as of one version."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from pipeline.sources import tables
from pipeline.sources.tables import Chunk, UnreadableSourceError, chosen_columns, numbered_chunks, unreadable

if TYPE_CHECKING:
    from pyiceberg.table import Table

_EXTRA: Final = "pip install 'truelift[lakes]'"


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """A Delta table in a folder or on S3, as of a version, or as of the newest one without any."""

    location: str
    name: str
    options: Mapping[str, str]
    version: int | None = None
    size: int = 0

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read the rows of one version; UnreadableSourceError."""
        try:
            import deltalake  # noqa: PLC0415 - an extra
        except ImportError:
            raise UnreadableSourceError(f"{self.name} is a Delta table; to read it, {_EXTRA}") from None
        with _as_unreadable(self.name):
            options = dict(self.options)
            table = deltalake.DeltaTable(self.location, version=self.version, storage_options=options)
            rows = pl.scan_delta(table, storage_options=options or None)
            names = chosen_columns(rows.collect_schema().names(), columns)
            yield from numbered_chunks(_frames(rows.select(names)), self.name)


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """An Iceberg table by its name in a catalog of PyIceberg's configuration, or by a metadata file.

    A folder with `version-hint.text`, as engines without a catalog write it, is read as that file says.
    """

    location: str
    name: str
    options: Mapping[str, str]
    catalog: str | None = None
    size: int = 0

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read the rows of the current snapshot; UnreadableSourceError."""
        try:
            import pyiceberg.table  # noqa: PLC0415 - an extra
        except ImportError:
            raise UnreadableSourceError(f"{self.name} is an Iceberg table; to read it, {_EXTRA}") from None
        with _as_unreadable(self.name), ExitStack() as stack:
            if self.catalog is None:
                table: Table = pyiceberg.table.StaticTable.from_metadata(self.location, dict(self.options))
            else:
                from pyiceberg.catalog import load_catalog  # noqa: PLC0415 - same
                from pyiceberg.utils.config import Config  # noqa: PLC0415 - same

                # As it is now: PyIceberg itself reads its configuration once in the life of a service.
                given: dict[str, Any] = Config().get_catalog_config(self.catalog) or {}
                catalog = stack.enter_context(load_catalog(self.catalog, **{**self.options, **given}))
                table = catalog.load_table(self.location)
            names = chosen_columns([field.name for field in table.schema().fields], columns)
            # Its reader holds one file's rows at a time.
            reader = table.scan(selected_fields=tuple(names)).to_arrow_batch_reader()
            frames = (pl.DataFrame(batch) for batch in reader)
            yield from numbered_chunks(
                _with_columns(pl.DataFrame(reader.schema.empty_table()), frames), self.name
            )


def _frames(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    yield rows.collect_schema().to_frame()
    yield from rows.collect_batches(chunk_size=tables.CHUNK_ROWS)


def _with_columns(columns: pl.DataFrame, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the columns without rows, and then frames of at most 50,000 rows."""
    yield columns
    for frame in frames:
        yield from frame.iter_slices(tables.CHUNK_ROWS)


@contextmanager
def _as_unreadable(name: str) -> Iterator[None]:
    """Raise UnreadableSourceError for errors of the format, of the catalog, of Polars and of the disk."""
    try:
        yield
    except UnreadableSourceError:
        raise
    except Exception as broken:
        # Each catalog has errors of its own packages.
        first_line = str(broken).strip().partition("\n")[0]
        raise unreadable(name, first_line or type(broken).__name__) from broken
