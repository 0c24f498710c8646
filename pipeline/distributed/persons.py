"""Persons of visitors and users of all parts, and the parts that share transactions of theirs."""

from dataclasses import dataclass

import polars as pl

from pipeline.distributed.scratch import LAST_SEQ, PROJECT, Scratch
from pipeline.store.warehouse.identities import Identities, Persons


def find_persons(links: pl.DataFrame, *, received_until: int) -> "PersonKeys":
    """Join the visitors of all `links`, of events received up to `received_until` (epoch µs)."""
    with Scratch.open(links=links) as scratch:
        identities = Identities(scratch.cursor, PROJECT, until=LAST_SEQ, received_until=received_until)
        return PersonKeys(identities.fetch())


def has_id(name: str) -> pl.Expr:
    """Replace ids by true; null stays null. Only whether there is one matters, as keys are compared."""
    return pl.when(pl.col(name).is_not_null()).then(pl.lit(value=True)).alias(name)


@dataclass(frozen=True, slots=True)
class PersonKeys:
    """Keys of persons, by those of events."""

    persons: Persons

    def add(self, events: pl.DataFrame) -> pl.DataFrame:
        """Add the `person_key` of each event, by the rule of `Identities.joined`."""
        if not self.persons.exist:
            return events.with_columns(pl.col("visitor_key").alias("person_key"))
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

    def further_parts(self, orders: pl.DataFrame, parts: int) -> pl.DataFrame:
        """Pair orders (`seq`) with the parts (`to`) of others of their transactions, which need them, too."""
        own = (pl.col("person_key") % parts).cast(pl.UInt32).alias("own")
        numbered = self.add(orders).select("seq", "transaction_key", own)
        sharing = numbered.select("transaction_key", to="own").unique()
        pairs = numbered.join(sharing, on="transaction_key").filter(pl.col("to") != pl.col("own"))
        return pairs.select("seq", "to")
