"""Selection of the rows of visitors that no earlier import stored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import polars as pl

from engine.currencies import minor_units
from engine.design.experiment import Experiment
from pipeline.events.hashing import hash64
from pipeline.events.text_hashes import hash_texts
from pipeline.imports.anonymous_rows import NewRange, StoredSeries, Sums, cumulative_sums, find_new_range
from pipeline.imports.row_contents import hash_rows, number_rows, numbered_ids
from pipeline.imports.visitor_rows import CONTENT_UNITS, VisitorColumns
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.imports.content_counts import ContentCounts
from pipeline.store.warehouse.imports.stored_rows import (
    ANONYMOUS_PREFIX,
    ImportedInto,
    StoredRowKinds,
    find_stored_events,
    read_anonymous_rows,
    read_rows_by_line,
)

# Key of the series of rows that version 0.1 numbered by line.
_BY_LINE: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTarget:
    """The experiment that rows go into, the columns of the rows, and the rows that it has already."""

    experiment: Experiment
    columns: VisitorColumns
    currency: str
    kinds: StoredRowKinds

    @property
    def into(self) -> ImportedInto:
        """Ids of the project and the experiment."""
        return ImportedInto(self.experiment.project_id, self.experiment.id)

    def hash(self, rows: pl.DataFrame) -> pl.Series:
        """Hash the content of each row that was read."""
        return hash_visitor_rows(rows, self.columns)


class RowSelection(Protocol):
    """Selection of new rows, table after table in the order of their rows."""

    def select(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the new ones among the next rows of a table, with `visitor_id` and `row_id`."""


class NamedRows:
    """Selection of rows with visitor ids: each is known by its content and its number among equal rows."""

    def __init__(self, cursor: Cursor, target: ImportTarget) -> None:
        """Count the contents of the rows that version 0.1 stored."""
        self._cursor = cursor
        self._target = target
        self._read = ContentCounts(cursor, "rows_read")
        self._by_line = ContentCounts(cursor, "contents_by_line")
        for stored in _contents_by_line(cursor, target):
            self._by_line.add(stored["content"])

    def select(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002 - tables are read as one
        """Return the new ones among the next rows, with their `row_id`."""
        contents = self._target.hash(rows)
        numbers = number_rows(contents, self._read)
        into = self._target.into
        row_ids = numbered_ids(contents, numbers)
        event_keys = hash_texts(into.exposure_prefix + row_ids)
        stored = find_stored_events(self._cursor, into.project_id, event_keys)
        is_new = ~event_keys.is_in(stored.implode()) & (numbers >= self._by_line.count(contents))
        return rows.with_columns(row_ids.alias("row_id")).filter(is_new)


class AnonymousRows:
    """Selection of rows without visitor ids: a file is known as a whole, see `find_new_range`.

    Its rows take 8 bytes each in memory, and so do the rows that the experiment has already.
    """

    def __init__(
        self, cursor: Cursor, target: ImportTarget, contents: Mapping[str, Sums], *, now_us: int
    ) -> None:
        """Find the new rows of each table, given by the hashes of its rows."""
        self._target = target
        self._done = dict.fromkeys(contents, 0)
        self._ranges: dict[str, NewRange] = {}
        self._series: dict[str, tuple[int, int]] = {}
        left = _stored_series(cursor, target)
        for table, hashes in contents.items():
            found = find_new_range(cumulative_sums(hashes), left)
            fresh = hash64(f"{now_us}:{len(self._ranges)}")
            continued = left[found.continues].rows if found.continues is not None else 0
            self._ranges[table] = found
            self._series[table] = (fresh if found.continues is None else found.continues, continued)
            left = {key: series for key, series in left.items() if key not in found.used}

    def select(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the new ones among the next rows of a table, with `visitor_id` and `row_id`."""
        found, (series, begins), done = self._ranges[table], self._series[table], self._done[table]
        self._done[table] = done + rows.height
        first, end = max(found.first - done, 0), max(found.end - done, 0)
        new = rows[first:end]
        position = begins + done + first - found.first
        contents = self._target.hash(new).to_list()
        visitors = [f"{series:016x}-{number}" for number in range(position, position + new.height)]
        row_ids = [f"{visitor}-{content:016x}" for visitor, content in zip(visitors, contents, strict=True)]
        return new.with_columns(
            pl.Series("visitor_id", [f"{ANONYMOUS_PREFIX}{visitor}" for visitor in visitors], pl.String),
            pl.Series("row_id", row_ids, pl.String),
        )


def hash_visitor_rows(rows: pl.DataFrame, columns: VisitorColumns) -> pl.Series:
    """Hash the content of each row that was read with these columns."""
    return hash_rows(
        rows,
        list(columns.goals),
        has_visitors=columns.visitor is not None,
        has_times=columns.timestamp is not None,
        unit=columns.unit,
    )


def _contents_by_line(cursor: Cursor, target: ImportTarget) -> Iterator[pl.DataFrame]:
    """Read `content` and `received_at` of the rows that version 0.1 stored, in their order."""
    if not target.kinds.by_line:
        return
    goal_ids = {goal.name: goal.id for goal in target.experiment.goals}
    names = {variant.id: variant.name for variant in target.experiment.variants}
    # That version counted hundredths in every currency.
    factor = max(minor_units(target.currency) // CONTENT_UNITS, 1)
    amounts = [
        (pl.col(f"g{number}") * (factor if kind == "revenue" else 1)).alias(f"content:{name}")
        for number, (name, kind) in enumerate(target.columns.goals.items())
    ]
    wanted = [goal_ids[name] for name in target.columns.goals]
    for rows in read_rows_by_line(cursor, target.into, wanted):
        named = rows.with_columns(
            pl.col("variant_id").replace_strict(names, default="").alias("variant"), *amounts
        )
        yield rows.select(target.hash(named).alias("content"), "received_at")


def _stored_series(cursor: Cursor, target: ImportTarget) -> dict[int, StoredSeries]:
    if not target.kinds.anonymous:
        return {}
    by_line = [
        rows.with_columns(series=pl.lit(_BY_LINE, pl.UInt64)) for rows in _contents_by_line(cursor, target)
    ]
    stored = pl.concat([*by_line, read_anonymous_rows(cursor, target.into)], how="diagonal")
    parts = stored.sort("series", "received_at", maintain_order=True).partition_by(
        "series", maintain_order=True, as_dict=True
    )
    return {int(key): _series_of(rows) for (key,), rows in parts.items()}


def _series_of(rows: pl.DataFrame) -> StoredSeries:
    """Build a series from its rows in order."""
    imports = rows["received_at"].rle_id().to_numpy()
    ends = np.flatnonzero(np.append(imports[1:] != imports[:-1], True)) + 1
    return StoredSeries(cumulative_sums(rows["content"].to_numpy()), tuple(ends.tolist()))
