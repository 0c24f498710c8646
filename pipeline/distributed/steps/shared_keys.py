"""Events that share an id, a user or a transaction, by that key; and the number and digest of all events."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from pipeline.distributed import named_frames
from pipeline.distributed.event_files import UnusableEventsError
from pipeline.distributed.persons import has_id
from pipeline.distributed.scratch import LAST_SEQ, LINKS, PROJECT, Scratch
from pipeline.rollup.read_events import find_repeated_keys
from pipeline.store.warehouse.incremental import identity_links

# Kinds of results, with their columns: `events`, the highest `seq` and the exclusive or of all keys of ids;
# the links that `identity_links` keeps; numbers of events that do not count, because another with their id
# does, by the end up to which events are received; orders of several visitors by transaction.
SUMMARY: Final = "summary"
LINKED: Final = "links"
REPEATS: Final = "repeats"
ORDERS: Final = "orders"
KINDS: Final = {
    SUMMARY: pl.Schema({"events": pl.Int64, "newest_seq": pl.Int64, "digest": pl.UInt64}),
    LINKED: LINKS,
    REPEATS: pl.Schema({"received_until": pl.Int64, "seq": pl.Int64}),
    ORDERS: pl.Schema(
        {"transaction_key": pl.UInt64, "seq": pl.Int64, "visitor_key": pl.UInt64, "visitor_id": pl.Boolean}
    ),
}
# Keys by which a row is sent: of all events, of those of users and of orders.
_ID, _USER, _ORDER = range(3)
_PLAIN: Final = ("seq", "received_at", "sender", "not_counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStep:
    """Results of the KINDS of all events, for experiments that count up to one of the `ends` (epoch µs).

    Each event is sent to the part of its id, to that of its transaction, and to those of its user and, as a
    server may use one id for both, of its visitor.
    """

    parts: int
    ends: tuple[int, ...]
    name: ClassVar[str] = "keys"
    columns: ClassVar[tuple[str, ...]] = (
        *(*_PLAIN, "event_key", "visitor_id", "visitor_key", "user_key", "transaction_key"),
    )
    sent: ClassVar[pl.Schema] = pl.Schema(
        {
            "by": pl.UInt8,
            "key": pl.UInt64,
            "seq": pl.Int64,
            "received_at": pl.Int64,
            "sender": pl.String,
            "not_counted": pl.String,
            "visitor_id": pl.Boolean,
            "visitor_key": pl.UInt64,
            "user_key": pl.UInt64,
        }
    )
    returned: ClassVar[pl.Schema] = named_frames.SCHEMA

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Send the keys of events; ids themselves are not sent."""
        rows = events.with_columns(has_id("visitor_id"))
        of_visitors = rows.filter(pl.col("visitor_id").is_not_null())
        linked = of_visitors.filter(pl.col("user_key").is_not_null())
        is_sent = self._part_of("user_key") == self._part_of("visitor_key")
        is_trusted = pl.col("sender").is_in(["server", "import"])
        trusted = of_visitors.filter(is_trusted & ~is_sent.fill_null(value=False))
        orders = rows.filter(pl.col("transaction_key").is_not_null())
        ids, by_id = ("visitor_id", "visitor_key"), pl.col("event_key").alias("key")
        by_transaction = pl.col("transaction_key").alias("key")
        copies = [
            rows.select(_by(_ID), by_id, *_PLAIN, self._part_of("event_key")),
            linked.select(_by(_USER), *_PLAIN, *ids, "user_key", self._part_of("user_key")),
            trusted.select(_by(_USER), *_PLAIN, *ids, "user_key", self._part_of("visitor_key")),
            orders.select(_by(_ORDER), by_transaction, "seq", *ids, self._part_of("transaction_key")),
        ]
        return pl.concat(copies, how="diagonal")

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Find what the events of a part share."""
        return named_frames.pack(self._results(part, rows))

    def _results(self, part: int, rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        events, of_users, orders = (rows.filter(pl.col("by") == by).drop("by") for by in (_ID, _USER, _ORDER))
        one = pl.lit(1, pl.Int64).alias("events")
        yield SUMMARY, add_up_summaries(events.select(one, newest_seq="seq", digest="key"))
        yield REPEATS, self._find_repeats(events)
        yield LINKED, self._find_links(part, of_users)
        yield ORDERS, _shared_orders(orders)

    def _find_repeats(self, events: pl.DataFrame) -> pl.DataFrame:
        repeated = find_repeated_keys(events["key"])
        if repeated.is_empty():
            return KINDS[REPEATS].to_frame()
        shared = events.filter(pl.col("key").is_in(repeated.implode())).rename({"key": "event_key"})
        if shared["seq"].is_duplicated().any():
            raise UnusableEventsError(
                "some event numbers (`seq`) occur twice: the input has the same events in two files"
            )
        found = []
        with Scratch.open(shared) as scratch:
            for end in self.ends:
                reader = scratch.reader(received_until=end)
                reader.skip_repeats(repeated)
                found.append(reader.repeats().select(pl.lit(end).alias("received_until"), "seq"))
        return pl.concat(found)

    def _find_links(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        if rows.is_empty():
            return LINKS.to_frame()
        with Scratch.open(rows) as scratch:
            identity_links.update(scratch.cursor, PROJECT, LAST_SEQ, anew=True)
            links = identity_links.read(scratch.cursor, PROJECT)
        return links.filter(pl.col("user_key") % self.parts == part).select(LINKS.names())

    def _part_of(self, key: str) -> pl.Expr:
        return (pl.col(key) % self.parts).cast(pl.UInt32).alias("part")


def add_up_summaries(summaries: pl.DataFrame) -> pl.DataFrame:
    """Add up the numbers and digests of different events."""
    return summaries.select(
        pl.col("events").sum(), pl.col("newest_seq").max(), pl.col("digest").bitwise_xor()
    )


def _by(key: int) -> pl.Expr:
    return pl.lit(key, pl.UInt8).alias("by")


def _shared_orders(orders: pl.DataFrame) -> pl.DataFrame:
    """List the orders of transactions of several visitors, which may be several persons."""
    visitor, has_id = pl.col("visitor_key"), pl.col("visitor_id").is_not_null()
    differ = pl.any_horizontal((one.min() != one.max()).over("key") for one in (visitor, has_id))
    repeated = orders.filter(pl.col("key").is_duplicated()).filter(differ)
    return repeated.rename({"key": "transaction_key"}).select(KINDS[ORDERS].names())
