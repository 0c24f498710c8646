"""CSV and Parquet files on S3, and its settings, which are AWS's own environment variables."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl
import pyarrow.fs
import pyarrow.parquet

from pipeline.sources.csv_rows import read_csv_rows
from pipeline.sources.disk_files import BROKEN, changed, with_partition
from pipeline.sources.tables import (
    Chunk,
    chosen_columns,
    chunk_rows,
    numbered_chunks,
    require_width,
    unreadable,
)

SCHEME: Final = "s3://"
_READ_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True)
class ObjectTable:
    """A CSV or Parquet file on S3; `key` is its bucket and path. `partition` is as of a FileTable."""

    key: str
    size: int
    partition: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Address of the file."""
        return f"{SCHEME}{self.key}"

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read chunks of at most 50,000 rows; UnreadableSourceError, also where the file changes."""
        try:
            system = file_system()
            version = _version(system, self.key)
            is_csv = self.key.lower().endswith(".csv")
            for chunk in self._read_csv(system) if is_csv else self._read_parquet(system, columns):
                yield with_partition(chunk, self.partition)
            if _version(system, self.key) != version:
                raise changed(self.name)
        except BROKEN as broken:
            raise unreadable(self.name, str(broken)) from broken

    def _read_csv(self, system: pyarrow.fs.FileSystem) -> Iterator[Chunk]:
        # A stream does not tell how far it is.
        with system.open_input_stream(self.key, buffer_size=_READ_BYTES) as file:
            yield from read_csv_rows(file, self.name)

    def _read_parquet(self, system: pyarrow.fs.FileSystem, columns: Sequence[str] | None) -> Iterator[Chunk]:
        with system.open_input_file(self.key) as opened:
            file = pyarrow.parquet.ParquetFile(opened)
            require_width(len(file.schema_arrow), self.name)
            chosen = chosen_columns(file.schema_arrow.names, columns, self.partition)
            total = file.metadata.num_rows
            for chunk in numbered_chunks(_frames(file, chosen), self.name):
                yield replace(chunk, done=self.size * chunk.done // max(total, 1))


def file_system() -> pyarrow.fs.FileSystem:
    """Open S3 by the settings of the environment; credentials are found as AWS's own programs find them."""
    endpoint, region = _endpoint(), _region()
    options = {"region": region} if region else {}
    if endpoint:
        scheme, _, address = endpoint.rpartition("://")
        options |= {"endpoint_override": address, "scheme": scheme or "https"}
    return pyarrow.fs.S3FileSystem(**options)


def list_objects(prefix: str) -> list[tuple[str, int]]:
    """List the keys below a prefix that ends before a `/`, with their sizes; UnreadableSourceError."""
    return _found(pyarrow.fs.FileSelector(prefix, recursive=True, allow_not_found=True), prefix)


def find_object(key: str) -> list[tuple[str, int]]:
    """List the object of that key with its size, if there is one; UnreadableSourceError."""
    return _found([key], key)


def _found(wanted: pyarrow.fs.FileSelector | list[str], place: str) -> list[tuple[str, int]]:
    try:
        found = file_system().get_file_info(wanted)
    except OSError as error:
        raise unreadable(f"{SCHEME}{place}", str(error)) from error
    return sorted((one.path, one.size) for one in found if one.is_file)


def delta_options() -> dict[str, str]:
    """Build the options by which Delta tables are read on S3; it reads the variables of AWS by itself."""
    # A plain address is refused unless it is asked for.
    return {"AWS_ALLOW_HTTP": "true"} if (_endpoint() or "").startswith("http://") else {}


def iceberg_options() -> dict[str, str]:
    """Build the options by which Iceberg tables are read on S3."""
    given = {"s3.endpoint": _endpoint(), "s3.region": _region()}
    return {name: value for name, value in given.items() if value}


def _endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


def _region() -> str | None:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")


def _version(system: pyarrow.fs.FileSystem, key: str) -> object:
    """Return what S3 tells of an object: its tag, its size and the time of its last change."""
    with system.open_input_stream(key) as file:
        return file.metadata()


def _frames(file: pyarrow.parquet.ParquetFile, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    yield pl.DataFrame(file.schema_arrow.empty_table().select(columns))
    for batch in file.iter_batches(batch_size=chunk_rows(len(columns)), columns=columns):
        yield pl.DataFrame(batch)
