"""Tables read as one typed frame, for an analysis without a store."""

from collections.abc import Sequence

import polars as pl

from pipeline.sources.disk_files import FileTable, file_format, with_partition
from pipeline.sources.tables import LINE, Chunk, Table, UnreadableSourceError


def read_whole(tables: Sequence[Table], *, times: Sequence[str] = ()) -> pl.DataFrame:
    """Read tables as one typed frame; the columns in `times` are read as UTC times.

    Raises:
        UnreadableSourceError: a table is missing, of another kind, or broken, or they have different columns.
    """
    frames = [_read_typed(table, times) for table in tables]
    try:
        return pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError as different:
        names = ", ".join(table.name for table in tables)
        raise UnreadableSourceError(f"{names} have different columns or types: {different}") from different


def _read_typed(table: Table, times: Sequence[str]) -> pl.DataFrame:
    try:
        frame = _read(table)
        text = [name for name in times if frame.schema.get(name) == pl.String]
        return frame.with_columns(pl.col(text).str.to_datetime(time_unit="us", time_zone="UTC"))
    except (pl.exceptions.PolarsError, OSError) as broken:
        raise UnreadableSourceError(f"{table.name} cannot be read: {broken}") from broken


def _read(table: Table) -> pl.DataFrame:
    if isinstance(table, FileTable):
        is_csv = file_format(table.path) == ".csv"
        # The type of a column follows from every row: ids that are numbers but for the last line stay text.
        rows = pl.read_csv(table.path, infer_schema_length=None) if is_csv else pl.read_parquet(table.path)
        return with_partition(Chunk(rows), table.partition).rows
    return pl.concat([chunk.rows.drop(LINE) for chunk in table.read()], how="vertical_relaxed")
