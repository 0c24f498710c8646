"""Number and digest of all events, which tell whether a store has the same ones."""

from dataclasses import dataclass
from typing import ClassVar

import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryStep:
    """Number of the events, the highest `seq`, and the exclusive or of all `event_key`."""

    parts: ClassVar[int] = 1
    name: ClassVar[str] = "summary"
    columns: ClassVar[tuple[str, ...]] = ("seq", "event_key")
    sent: ClassVar[pl.Schema] = pl.Schema({"events": pl.Int64, "newest_seq": pl.Int64, "digest": pl.UInt64})
    returned: ClassVar[pl.Schema] = sent

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Summarize a batch."""
        return events.select(
            pl.len().cast(pl.Int64).alias("events"),
            pl.col("seq").max().alias("newest_seq"),
            pl.col("event_key").bitwise_xor().alias("digest"),
            pl.lit(0, pl.UInt32).alias("part"),
        )

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002 # the form of all steps
        """Add up the batches."""
        return rows.select(pl.col("events").sum(), pl.col("newest_seq").max(), pl.col("digest").bitwise_xor())
