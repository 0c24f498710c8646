"""Repeats of an event id, by the id."""

from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from pipeline.distributed.event_files import UnusableEventsError
from pipeline.distributed.scratch import PROJECT, scratch_warehouse
from pipeline.rollup.read_events import find_repeated_keys
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.events import EVENT_SCHEMA

_READ: Final = ("event_key", "received_at", "sender", "not_counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatStep:
    """Numbers of the events that do not count, because another with their id does."""

    parts: int
    until: int
    received_until: int
    name: ClassVar[str] = "repeats"
    columns: ClassVar[tuple[str, ...]] = ("seq", *_READ)
    sent: ClassVar[pl.Schema] = pl.Schema({"seq": pl.Int64(), **{name: EVENT_SCHEMA[name] for name in _READ}})
    returned: ClassVar[pl.Schema] = pl.Schema({"seq": pl.Int64})

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Send each event to the part of its id."""
        part = (pl.col("event_key") % self.parts).cast(pl.UInt32).alias("part")
        return events.filter(pl.col("seq") <= self.until).with_columns(part)

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002 # the form of all steps
        """Find the repeats among the events of a part."""
        if rows["seq"].is_duplicated().any():
            raise UnusableEventsError(
                "some event numbers (`seq`) occur twice: the input has the same events in two files"
            )
        repeated = find_repeated_keys(rows["event_key"])
        if repeated.is_empty():
            return self.returned.to_frame()
        shared = rows.filter(pl.col("event_key").is_in(repeated.implode()))
        with (
            scratch_warehouse(shared.with_columns(visitor_key=pl.lit(0, pl.UInt64))) as warehouse,
            EventReader.open(
                warehouse, PROJECT, until=self.until, received_until=self.received_until, skip_bots=False
            ) as reader,
        ):
            reader.skip_repeats(repeated)
            return reader.repeats()
