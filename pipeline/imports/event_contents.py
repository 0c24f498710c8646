"""Contents of events without ids: hashes by which an event is known again, whatever table it is in."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import polars as pl

from pipeline.events.text_hashes import hash_texts
from pipeline.imports.row_contents import number_rows, numbered_ids
from pipeline.store.warehouse.imports.content_counts import ContentCounts

# Columns beside those of the events table: the time that the row has, null where it has none (epoch µs), and
# whether it has an event id.
CLAIMED_AT: Final = "claimed_at"
HAS_ID: Final = "has_id"
_TEXTS: Final = (
    *("type", "visitor_id", "user_id", "experiment_id", "variant_id", "goal_id", "url", "selector"),
    "event_name",
)
# A part of a list in JSON: constants, and columns of texts.
_Pieces: TypeAlias = tuple[str | pl.Series, ...]
_NULL: Final[_Pieces] = ("null",)
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
        _number(events[CLAIMED_AT]),
        *(_text(events[name]) for name in _TEXTS),
        _float(events["value"]),
        _number(events["revenue_cents"]),
        *(_text(events[name]) for name in ("currency", "transaction_id")),
        _truth(events["is_refund"]),
    ]
    return hash_texts(events.select(pl.concat_str(_list_of(parts))).to_series())


def _list_of(parts: Iterable[_Pieces]) -> Iterator[pl.Expr]:
    """Put the parts in brackets, with commas; neighbouring constants become one."""
    commas = itertools.chain.from_iterable((",", *part) for part in parts)
    for is_text, pieces in itertools.groupby(("[", *itertools.islice(commas, 1, None), "]"), _is_text):
        if is_text:
            yield pl.lit("".join(map(str, pieces)))
        else:
            yield from (pl.lit(piece) for piece in pieces)


def _is_text(piece: str | pl.Series) -> bool:
    return isinstance(piece, str)


def _number(values: pl.Series) -> _Pieces:
    return _NULL if _is_null(values) else (values.cast(pl.String).fill_null("null"),)


def _text(values: pl.Series) -> _Pieces:
    if _is_null(values):
        return _NULL
    is_plain = values.str.contains(_PLAIN)
    if is_plain.all() and not values.null_count():
        return '"', values, '"'
    escaped = values.filter(~is_plain).unique()
    texts = pl.Series(map(json.dumps, escaped.to_list()), dtype=pl.String)
    quoted = pl.select(pl.format('"{}"', pl.lit(values)).fill_null("null")).to_series()
    return (
        quoted.zip_with(is_plain.fill_null(value=True), values.replace_strict(escaped, texts, default=None)),
    )


def _float(values: pl.Series) -> _Pieces:
    if _is_null(values):
        return _NULL
    # Polars writes some numbers in another form than JSON.
    return (pl.Series([json.dumps(value) for value in values.to_list()], dtype=pl.String),)


def _truth(values: pl.Series) -> _Pieces:
    if not values.any():
        return ("false",)
    return (values.replace_strict([True, False], ["true", "false"], return_dtype=pl.String),)


def _is_null(values: pl.Series) -> bool:
    return values.null_count() == len(values)
