"""Contents of events without ids: hashes by which an event is known again, whatever table it is in."""

import json
from typing import Final

import polars as pl

from pipeline.imports.row_contents import hash_texts, number_rows, numbered_ids
from pipeline.store.warehouse.imports.content_counts import ContentCounts

# Columns beside those of the events table: the time that the row has, null where it has none (epoch µs), and
# whether it has an event id.
CLAIMED_AT: Final = "claimed_at"
HAS_ID: Final = "has_id"
_TEXTS: Final = (
    *("type", "visitor_id", "user_id", "experiment_id", "variant_id", "goal_id", "url", "selector"),
    "event_name",
)
# Characters that JSON has as they are.
_PLAIN: Final = r"^[ !#-\[\]-~]*$"


def number_events(events: pl.DataFrame, counts: ContentCounts) -> pl.DataFrame:
    """Give the events without ids theirs, `import-<content>-<number among equal ones>`, and drop HAS_ID.

    Each needs its `CLAIMED_AT` and `HAS_ID`.
    """
    lacking = events.filter(~pl.col(HAS_ID))
    if lacking.height:
        contents = hash_event_contents(lacking)
        ids = "import-" + numbered_ids(contents, number_rows(contents, counts))
        given = lacking.with_columns(ids.alias("event_id"), hash_texts(ids).alias("event_key"))
        if lacking.height < events.height:
            place = pl.int_range(pl.len(), dtype=pl.UInt32).alias("place")
            placed = events.with_columns(place)
            given = given.with_columns(placed.filter(~pl.col(HAS_ID))["place"])
            given = pl.concat([placed.filter(HAS_ID), given]).sort("place").drop("place")
        events = given
    return events.drop(CLAIMED_AT, HAS_ID)


def hash_event_contents(events: pl.DataFrame) -> pl.Series:
    """Hash what happened, to whom and when (UInt64); attributes, like segments, are no part of it.

    A row without a time is stored at that of the import, and one ahead of it as well, so its own time counts.
    """
    # The JSON text of a list: the form in which version 0.1 hashed them.
    parts = [
        _number(pl.col(CLAIMED_AT)),
        *(_text(events[name]) for name in _TEXTS),
        _floats(events["value"]),
        _number(pl.col("revenue_cents")),
        *(_text(events[name]) for name in ("currency", "transaction_id")),
        pl.when("is_refund").then(pl.lit("true")).otherwise(pl.lit("false")),
    ]
    whole = pl.concat_str([pl.lit("["), pl.concat_str(parts, separator=","), pl.lit("]")])
    return hash_texts(events.select(whole).to_series())


def _number(column: pl.Expr) -> pl.Expr:
    return column.cast(pl.String).fill_null("null")


def _text(values: pl.Series) -> pl.Expr:
    quoted = pl.format('"{}"', pl.lit(values)).fill_null("null")
    escaped = values.filter(~values.str.contains(_PLAIN)).drop_nulls().unique()
    if escaped.is_empty():
        return quoted
    texts = pl.Series(map(json.dumps, escaped.to_list()), dtype=pl.String)
    return pl.coalesce(pl.lit(values.replace_strict(escaped, texts, default=None)), quoted)


def _floats(values: pl.Series) -> pl.Expr:
    # Polars writes some numbers in another form than JSON.
    if values.null_count() == len(values):
        return pl.lit("null")
    return pl.lit(pl.Series([json.dumps(value) for value in values.to_list()], dtype=pl.String))
