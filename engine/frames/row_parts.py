"""Rows of a DataFrame in parts, each with all rows of its visitors, so that few are in memory."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import polars as pl

from engine.frames.rows import Columns, chosen, collected, read_rows

# Rows that are read and validated together: larger columns would not stay in the caches of a processor.
BATCH_ROWS: Final = 200_000
# Parts of the visitors, where there are more rows.
PARTS: Final = 32


def parts_of(df: Any, columns: Columns) -> Iterator[pl.DataFrame]:  # noqa: ANN401  # as `read_rows`
    """Yield the rows of `read_rows` in parts; a lazy frame of Polars is run once, and read as it goes.

    Raises InvalidEvidenceError for what is wrong with the rows read so far.
    """
    batches = (read_rows(batch, columns) for batch in _batches(df, columns.named) if batch.height)
    yield from batches if columns.visitor is None else _parted(batches)


def _batches(df: Any, names: list[str]) -> Iterator[pl.DataFrame]:  # noqa: ANN401  # as `read_rows`
    lazy = chosen(df, names).to_native()
    if isinstance(lazy, pl.LazyFrame):
        yield from lazy.collect_batches(chunk_size=BATCH_ROWS)
    else:
        yield from collected(df, names).iter_slices(BATCH_ROWS)


def _parted(batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Bring the rows of visitors together, in parts by the key of the visitor."""
    first, second = next(batches, None), next(batches, None)
    if first is None or second is None:
        yield from [] if first is None else [first]
        return
    parts: dict[object, list[pl.DataFrame]] = {}
    number = (pl.col("visitor") % PARTS).cast(pl.UInt8).alias("part")
    for batch in chain([first, second], batches):
        for part, rows in (
            batch.with_columns(number).partition_by("part", include_key=False, as_dict=True).items()
        ):
            parts.setdefault(part, []).append(rows)
    while parts:
        yield pl.concat(parts.popitem()[1])
