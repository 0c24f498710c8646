"""Links of visitors and users, by user."""

from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from pipeline.distributed.scratch import LINKS, PROJECT, scratch_warehouse
from pipeline.store.warehouse.events import EVENT_SCHEMA
from pipeline.store.warehouse.identities import Identities, Persons
from pipeline.store.warehouse.incremental import identity_links

_READ: Final = ("received_at", "visitor_id", "visitor_key", "user_key", "sender")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStep:
    """The links that `identity_links` keeps, of events numbered up to `until`.

    An event goes to the part of its user and, as a server may use one id for both, to that of its visitor.
    """

    parts: int
    until: int
    name: ClassVar[str] = "links"
    columns: ClassVar[tuple[str, ...]] = ("seq", *_READ)
    sent: ClassVar[pl.Schema] = pl.Schema({"seq": pl.Int64(), **{name: EVENT_SCHEMA[name] for name in _READ}})
    returned: ClassVar[pl.Schema] = LINKS

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Send events with a visitor id to the parts of both keys; ids themselves are not sent."""
        rows = events.filter(pl.col("visitor_id").is_not_null() & (pl.col("seq") <= self.until))
        linked = rows.filter(pl.col("user_key").is_not_null())
        trusted = rows.filter(pl.col("sender").is_in(["server", "import"]))
        copies = pl.concat(
            [
                linked.with_columns(self._part_of("user_key")),
                trusted.with_columns(self._part_of("visitor_key")),
            ]
        )
        return copies.with_columns(visitor_id=pl.lit("")).unique(["seq", "part"])

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Find the links of the users of a part."""
        with scratch_warehouse(rows) as warehouse, warehouse.transaction() as cursor:
            identity_links.update(cursor, PROJECT, self.until, anew=True)
            links = identity_links.read(cursor, PROJECT)
        return links.filter(pl.col("user_key") % self.parts == part).select(LINKS.names())

    def _part_of(self, key: str) -> pl.Expr:
        return (pl.col(key) % self.parts).cast(pl.UInt32).alias("part")


def find_persons(links: pl.DataFrame, *, until: int, received_until: int) -> Persons:
    """Join the visitors of all `links`, of events received up to `received_until` (epoch µs)."""
    with scratch_warehouse(links=links) as warehouse, warehouse.cursor() as cursor:
        return Identities(cursor, PROJECT, until=until, received_until=received_until).fetch()


@dataclass(frozen=True, slots=True)
class PersonKeys:
    """Keys of persons, by those of events."""

    persons: Persons

    def add(self, events: pl.DataFrame) -> pl.DataFrame:
        """Add the `person_key` of each event, by the rule of `Identities.joined`."""
        visitors, users = self.persons.visitors, self.persons.users
        of_visitor = events.join(
            visitors.select("visitor_key", of_visitor="person_key"), on="visitor_key", how="left"
        )
        of_both = of_visitor.join(
            users.select(visitor_key="user_key", of_user="person_key"), on="visitor_key", how="left"
        )
        user = pl.when(pl.col("visitor_id").is_null()).then("of_user")
        person = pl.coalesce(user, "of_visitor", "visitor_key").alias("person_key")
        return of_both.with_columns(person).drop("of_visitor", "of_user")
