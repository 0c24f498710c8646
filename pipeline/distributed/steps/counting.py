"""Visitor rows and their sums, by person."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import polars as pl

from pipeline.distributed.counted_groups import CountedGroup
from pipeline.distributed.scratch import PROJECT, scratch_warehouse
from pipeline.distributed.steps.links import PersonKeys
from pipeline.rollup.aggregates import add_up
from pipeline.rollup.changed_rows import VisitorRows
from pipeline.rollup.read_events import CountedVisitors, ProjectRead
from pipeline.rollup.result_tables import of_own_goals, sum_rows
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.warehouse.event_reader import SEGMENT_COLUMNS, EventReader
from pipeline.store.warehouse.events import EVENT_SCHEMA

# Kinds of frames that a part results in.
VISITORS: Final = "visitors"
ORDERS: Final = "orders"
SUMS: Final = "sums"
VALUES: Final = "values"
LAST_EXPOSED: Final = "last_exposed"
# Texts that only their keys are compared by; of a visitor id it matters whether there is one.
_UNREAD: Final = ("event_id", "user_id", "transaction_id")
_SEGMENTS: Final = (*SEGMENT_COLUMNS, "day_of_week")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountStep:
    """Counted visitors of a group of experiments, as frames of several kinds in Arrow's file format.

    `repeats` are the results of RepeatStep, `further` those of TransactionStep.
    """

    parts: int
    until: int
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
        {"is_repeat": pl.Boolean(), **{name: EVENT_SCHEMA.get(name, pl.Int64()) for name in columns}}
    )
    returned: ClassVar[pl.Schema] = pl.Schema({"kind": pl.String, "content": pl.Binary})

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Send each event to the part of its person, and orders to those that share their transaction."""
        rows = events.filter(pl.col("seq") <= self.until).with_columns(
            pl.col("seq").is_in(self.repeats.implode()).alias("is_repeat")
        )
        part = (pl.col("person_key") % self.parts).cast(pl.UInt32).alias("part")
        own = self.persons.add(rows).with_columns(part).drop("person_key")
        copies = rows.join(self.further, on="seq").rename({"to": "part"})
        visitor_id = pl.when(pl.col("visitor_id").is_not_null()).then(pl.lit("")).alias("visitor_id")
        return pl.concat([own, copies.select(own.columns)]).with_columns(visitor_id)

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Count the visitors of a part."""
        # Rows of a chunk are read in the order of their numbers, as in the service's own store.
        in_order = rows.sort("seq")
        group = self.group
        with (
            scratch_warehouse(in_order.drop("is_repeat")) as warehouse,
            EventReader.open(
                warehouse,
                PROJECT,
                until=self.until,
                received_until=group.received_until,
                skip_bots=group.rules.bot_filtering,
            ) as reader,
            tempfile.TemporaryDirectory(prefix="truelift-rollup-") as folder,
        ):
            repeats = in_order.filter("is_repeat")["seq"]
            reader.keep_to_part(self.persons.persons, repeats, part=part, parts=self.parts)
            read = ProjectRead(
                reader, group.experiments, group.rules, at_once=self.at_once, folder=Path(folder) / "parts"
            )
            return _pack(self._count(read))

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


def _pack(frames: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    packed = [
        (kind, rows.write_ipc(None, compression="zstd").getvalue()) for kind, rows in frames if rows.height
    ]
    return pl.DataFrame(packed, schema=CountStep.returned, orient="row")
