"""Delta and Iceberg tables, each read as of one version."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import polars as pl

from pipeline.sources import tables
from pipeline.sources.tables import Chunk, UnreadableSourceError, chosen_columns, numbered_chunks

_EXTRA: Final = "pip install 'truelift[lakes]'"


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """A Delta table in a folder or on S3."""

    location: str
    name: str
    options: Mapping[str, str]
    size: int = 0

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read the rows of the newest version; UnreadableSourceError."""
        try:
            import deltalake  # noqa: PLC0415 - an extra
        except ImportError:
            raise UnreadableSourceError(f"{self.name} is a Delta table; to read it, {_EXTRA}") from None
        with _as_unreadable(self.name, deltalake.exceptions.DeltaError):
            table = deltalake.DeltaTable(self.location, storage_options=dict(self.options))
            rows = pl.scan_delta(table, storage_options=dict(self.options) or None)
            names = chosen_columns(rows.collect_schema().names(), columns)
            yield from numbered_chunks(_frames(rows.select(names)), self.name)


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """An Iceberg table by the location of its newest metadata file."""

    metadata: str
    name: str
    options: Mapping[str, str]
    size: int = 0

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read the rows of the current snapshot; UnreadableSourceError."""
        try:
            from pyiceberg.exceptions import ValidationError  # noqa: PLC0415 - an extra
            from pyiceberg.table import StaticTable  # noqa: PLC0415 - same
        except ImportError:
            raise UnreadableSourceError(f"{self.name} is an Iceberg table; to read it, {_EXTRA}") from None
        with _as_unreadable(self.name, ValidationError):
            table = StaticTable.from_metadata(self.metadata, dict(self.options))
            # Its reader holds one file's rows at a time.
            names = chosen_columns([field.name for field in table.schema().fields], columns)
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
def _as_unreadable(name: str, error_of_format: type[Exception]) -> Iterator[None]:
    """Raise UnreadableSourceError for errors of the format, of Polars and of the disk."""
    try:
        yield
    except (error_of_format, pl.exceptions.PolarsError, OSError, ValueError) as broken:
        first_line = str(broken).strip().partition("\n")[0]
        raise UnreadableSourceError(f"{name} cannot be read: {first_line}") from broken
