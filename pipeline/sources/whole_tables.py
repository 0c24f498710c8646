"""Tables read as one typed frame, for an analysis without a store."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from pipeline.sources.cell_values import numbers, yes_or_no
from pipeline.sources.csv_rows import csv_form
from pipeline.sources.disk_files import FileTable, file_format, with_partition
from pipeline.sources.tables import LINE, Chunk, Table, UnreadableSourceError, chosen_columns
from pipeline.sources.times import EXAMPLE, utc_microseconds


def scan_whole(
    tables: Sequence[Table],
    *,
    times: Collection[str] = (),
    goals: Collection[str] = (),
    columns: Sequence[str] | None = None,
) -> pl.LazyFrame:
    """Open tables as one typed frame; texts in `times` and `goals` are read as imports read them.

    Of tables with all of `columns`, only these are read, but of CSV. Parquet files without such texts are
    read when the frame is run, `with reading(tables)`, and other tables at once.

    Raises:
        UnreadableSourceError: a table is missing, of another kind, or broken, or they have different columns.
    """
    frames = []
    for table in tables:
        with reading([table]):
            frames.append(_scan_typed(table, times, goals, columns))
    try:
        whole = pl.concat(frames, how="vertical_relaxed")
        whole.collect_schema()
    except pl.exceptions.PolarsError as different:
        names = ", ".join(table.name for table in tables)
        raise UnreadableSourceError(
            f"{names} have different columns or types: {_why(different)}"
        ) from different
    return whole


@contextmanager
def reading(tables: Sequence[Table]) -> Iterator[None]:
    """Raise UnreadableSourceError where one of the tables turns out to be broken as it is read."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as broken:
        names = ", ".join(table.name for table in tables)
        raise UnreadableSourceError(f"{names} cannot be read: {_why(broken)}") from broken


def _why(error: Exception) -> str:
    """Return the words of an error without the plan of the query, which Polars adds after them."""
    return str(error).partition("\n\n")[0]


def _scan_typed(
    table: Table, times: Collection[str], goals: Collection[str], columns: Sequence[str] | None
) -> pl.LazyFrame:
    if isinstance(table, FileTable) and file_format(table.path) == ".parquet":
        file = _scan_parquet(table, columns)
        if not any(
            kind == pl.String and name in {*times, *goals} for name, kind in file.collect_schema().items()
        ):
            return file
        chunk = Chunk(file.collect())
    else:
        chunk = _read(table, columns)
    rows = chunk.rows
    texts = [name for name, kind in rows.schema.items() if kind == pl.String]
    typed = rows.with_columns(
        *_times(rows, table.name, [name for name in texts if name in times]),
        *_goals(chunk, [name for name in texts if name in goals]),
    )
    return typed.lazy()


def _times(rows: pl.DataFrame, table: str, names: Sequence[str]) -> Iterator[pl.Series]:
    for name in names:
        at = rows.select(utc_microseconds(name, pl.String(), "UTC")).to_series()
        if at.null_count() > rows[name].null_count():
            raise UnreadableSourceError(f"'{name}' of {table} is not a time such as {EXAMPLE}")
        yield at.cast(pl.Datetime("us", "UTC"))


def _goals(chunk: Chunk, names: Sequence[str]) -> Iterator[pl.Series]:
    """Read goals as numbers, or as true and false; a column that is neither stays text."""
    for name in names:
        # An empty cell in quotes is an empty cell.
        text = chunk.rows[name].replace("", None)
        for value, kind in (
            (numbers(name, pl.String(), chunk.delimiter), pl.Float64),
            (yes_or_no(name), pl.Boolean),
        ):
            known = pl.when(pl.col(name).is_not_null()).then(value).cast(kind).alias(name)
            goal = text.to_frame().select(known).to_series()
            if goal.null_count() == text.null_count():
                yield goal
                break


def _read(table: Table, columns: Sequence[str] | None) -> Chunk:
    if isinstance(table, FileTable):
        return with_partition(_read_csv(table), table.partition)
    chunks = list(table.read(columns))
    rows = pl.concat([chunk.rows.drop(LINE) for chunk in chunks], how="vertical_relaxed")
    return Chunk(rows, delimiter=chunks[0].delimiter)


def _scan_parquet(table: FileTable, columns: Sequence[str] | None) -> pl.LazyFrame:
    file = pl.scan_parquet(table.path, glob=False, hive_partitioning=False)
    names = file.collect_schema().names()
    folders = [
        pl.lit(value, pl.String).alias(name) for name, value in table.partition.items() if name not in names
    ]
    return file.select(chosen_columns(names, columns, table.partition)).with_columns(folders)


def _read_csv(table: FileTable) -> Chunk:
    with table.path.open("rb") as file:
        form = csv_form(file, table.name)
    rows = pl.read_csv(
        table.path,
        separator=form.delimiter,
        skip_lines=form.skipped,
        encoding="utf8" if form.encoding == "utf-8-sig" else form.encoding,
        # The type of a column follows from every row: ids that are numbers but for the last line stay text.
        infer_schema_length=None,
    )
    return Chunk(rows, delimiter=form.delimiter)
