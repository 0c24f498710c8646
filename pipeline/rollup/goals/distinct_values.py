"""Distinct values of a field of events: the first event of each counts."""

from typing import Final

import polars as pl

# Above every number of an event.
_SEQ_BITS: Final = 48
_VALUE: Final = ("experiment", "visitor_key", "goal", "field_key")


def is_first_of_value(is_before: pl.Expr) -> pl.Expr:
    """Tell of each event whether it is the first with the value of its field, of the visitor and goal.

    The first is the earliest, and of simultaneous ones the first received. The pre-period, which `is_before`
    flags, has values of its own. Refunds, and events without a value, are never the first.
    """
    order = pl.col("occurred_at").cast(pl.Int128) * 2**_SEQ_BITS + pl.col("seq")
    counts = pl.col("field_key").is_not_null() & ~pl.col("is_refund")
    counted = pl.when(counts).then(order)
    return (counted == counted.min().over(*_VALUE, is_before)).fill_null(value=False)
