"""Engines that carry out steps: each splits rows by part, and applies a function to the rows of each part."""

from collections.abc import Iterator
from typing import Protocol

import polars as pl


class Step(Protocol):
    """Function of all events with one key, for many keys at once; it can be pickled.

    `columns` are those of the events that it reads, `parts` the number of parts, `sent` the columns that
    `split` returns and `returned` those of `apply`.
    """

    @property
    def name(self) -> str:
        """Noun for the step in messages and folders."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the events to read."""
        ...

    @property
    def parts(self) -> int:
        """Number of parts."""
        ...

    @property
    def sent(self) -> pl.Schema:
        """Columns of the rows that are sent to parts, without `part`."""
        ...

    @property
    def returned(self) -> pl.Schema:
        """Columns of the results of parts."""
        ...

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Select the rows to send, with the number of the `part` (UInt32) of each."""
        ...

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Compute the result of a part from all of its rows, which are in no order."""
        ...


class Engine(Protocol):
    """Carries out steps over the events of the Parquet files that it was made for."""

    def run(self, step: Step) -> Iterator[pl.DataFrame]:
        """Yield the result of each part that has rows, in any order."""
        ...
