"""Visitor rows and their sums, by person."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from pipeline.distributed import named_frames
from pipeline.distributed.counted_groups import CountedGroup
from pipeline.distributed.persons import PersonKeys, has_id
from pipeline.distributed.scratch import Scratch
from pipeline.rollup.aggregates import add_up
from pipeline.rollup.changed_rows import VisitorRows
from pipeline.rollup.read_events import CountedVisitors, ProjectRead
from pipeline.rollup.result_tables import of_own_goals, sum_rows
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.event_columns import EVENT_DIMENSIONS
from pipeline.store.warehouse.event_reader import SEGMENT_COLUMNS
from pipeline.store.warehouse.events import EVENT_SCHEMA

# Kinds of frames that a part results in.
VISITORS: Final = "visitors"
ORDERS: Final = "orders"
SUMS: Final = "sums"
VALUES: Final = "values"
LAST_EXPOSED: Final = "last_exposed"
# Of other events no segments are read.
_WITH_SEGMENTS: Final = ("exposure", "init", "assignment")
# Ids, which only their keys are compared by, and the key of event ids, whose repeats are given.
_UNREAD: Final = ("event_id", "event_key", "user_id", "transaction_id")
_SEGMENTS: Final = (*SEGMENT_COLUMNS, "day_of_week")
# Not custom dimensions, which goals may add up.
_OF_SEGMENTS: Final = (*EVENT_DIMENSIONS, "address_key", "header_fields")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountStep:
    """Counted visitors of a group of experiments, as frames of several kinds.

    `repeats` are the numbers of the events that do not count for their id, `further` those of orders that
    other parts need, too.
    """

    parts: int
    group: CountedGroup
    persons: PersonKeys
    repeats: pl.Series
    further: pl.DataFrame
    at_once: int
    name: ClassVar[str] = "visitors"
    columns: ClassVar[tuple[str, ...]] = (
        "seq",
        *(name for name in EVENT_SCHEMA if name not in _UNREAD),
    )
    sent: ClassVar[pl.Schema] = pl.Schema(
        {
            "is_repeat": pl.Boolean(),
            "device_key": pl.UInt64(),
            **{name: EVENT_SCHEMA.get(name, pl.Int64()) for name in columns},
            "visitor_id": pl.Boolean(),
        }
    )
    returned: ClassVar[pl.Schema] = named_frames.SCHEMA

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Send each event to the part of its person, and orders to those that share their transaction.

        Of a visitor id it matters whether there is one; `visitor_key` is the person's, as a reader has it.
        """
        person = pl.col("person_key")
        has_segments = pl.col("type").is_in(_WITH_SEGMENTS)
        own = self.persons.add(events).select(
            pl.col("seq").is_in(self.repeats.implode()).alias("is_repeat"),
            pl.col("visitor_key").alias("device_key"),
            has_id("visitor_id"),
            person.alias("visitor_key"),
            pl.when(has_segments).then(pl.col(_OF_SEGMENTS)),
            pl.exclude(*_OF_SEGMENTS, "visitor_id", "visitor_key", "person_key"),
            (person % self.parts).cast(pl.UInt32).alias("part"),
        )
        copies = own.drop("part").join(self.further, on="seq").rename({"to": "part"})
        return pl.concat([own, copies]) if copies.height else own

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Count the visitors of a part."""
        group = self.group
        with Scratch.open(rows.drop("is_repeat")) as scratch:
            reader = scratch.reader(received_until=group.received_until, skip_bots=group.rules.bot_filtering)
            reader.keep_to_part(
                rows.filter("is_repeat")["seq"],
                part=part,
                parts=self.parts,
                has_identities=self.persons.persons.exist,
            )
            read = ProjectRead(
                reader,
                group.experiments,
                group.rules,
                at_once=self.at_once,
                folder=scratch.folder / "buckets",
            )
            return named_frames.pack(self._count(read))

    def _count(self, buckets: Iterable[CountedVisitors]) -> Iterable[tuple[str, pl.DataFrame]]:
        experiments = self.group.experiments
        codes = SegmentCodes()
        left_out = codes.large_dimensions()
        cells = add_up([])
        for bucket in buckets:
            own = of_own_goals(experiments, bucket.visitors)
            coded = VisitorRows(codes.encode(own), bucket.orders)
            left_out = pl.concat([left_out, codes.large_dimensions()]).unique()
            cells = add_up([cells, sum_rows(coded.signed(1), experiments, codes, left_out)])
            yield VISITORS, bucket.visitors.with_columns(pl.col(_SEGMENTS).cast(pl.String))
            yield ORDERS, bucket.orders
            yield LAST_EXPOSED, _last_exposed(bucket)
        yield SUMS, cells
        yield VALUES, codes.take_new_values()


def _last_exposed(bucket: CountedVisitors) -> pl.DataFrame:
    schema = {"experiment": pl.UInt16, "last_exposed_at": pl.Int64}
    return pl.DataFrame([*bucket.last_exposed_at.items()], schema=schema, orient="row")
