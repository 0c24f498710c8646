"""Orders that share a transaction with those of other parts, by the transaction."""

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from pipeline.distributed.steps.links import PersonKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStep:
    """Further parts (`seq`, `to`) that events have to be sent to, so that each has whole transactions."""

    parts: int
    until: int
    persons: PersonKeys
    name: ClassVar[str] = "transactions"
    columns: ClassVar[tuple[str, ...]] = ("seq", "visitor_id", "visitor_key", "transaction_key")
    sent: ClassVar[pl.Schema] = pl.Schema({"seq": pl.Int64, "transaction_key": pl.UInt64, "own": pl.UInt32})
    returned: ClassVar[pl.Schema] = pl.Schema({"seq": pl.Int64, "to": pl.UInt32})

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        """Send orders, with the part `own` of their person, to the part of the transaction."""
        of_orders = pl.col("transaction_key").is_not_null() & (pl.col("seq") <= self.until)
        rows = self.persons.add(events.filter(of_orders))
        return rows.select(
            "seq",
            "transaction_key",
            (pl.col("person_key") % self.parts).cast(pl.UInt32).alias("own"),
            (pl.col("transaction_key") % self.parts).cast(pl.UInt32).alias("part"),
        )

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002 # the form of all steps
        """Pair each event of a transaction with the parts of the others."""
        shared = rows.filter(pl.col("own").n_unique().over("transaction_key") > 1)
        parts = shared.select("transaction_key", to="own").unique()
        pairs = shared.join(parts, on="transaction_key").filter(pl.col("to") != pl.col("own"))
        return pairs.select("seq", "to")
