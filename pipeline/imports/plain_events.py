"""Columnar decoding of rows of events: those that are valid as they stand, without a look at each of them.

Whatever is unusual (a wrong or rare value, an id that is not ASCII) is left to the decoder of the API, row by
row, so that what is accepted and every sentence stay those of the API.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Final

import polars as pl

from engine.validation.sent_ids import JUNK_IDS, MAX_ID_LENGTH
from pipeline.events.attributes import UNKNOWN_CLIENT
from pipeline.events.decode import RequestContext
from pipeline.events.schema import (
    CONVERSION,
    CONVERSION_KINDS,
    EVENT_TYPES,
    MAX_CENTS,
    MAX_EVENT_BYTES,
    MAX_NAME_LENGTH,
    MAX_SELECTOR_LENGTH,
    MAX_URL_LENGTH,
    MAX_VALUE,
)
from pipeline.events.text_hashes import hash_texts
from pipeline.events.timestamps import MAX_AHEAD_US, MAX_MILLISECONDS
from pipeline.imports.derived_columns import AttributesOf, has_texts_only, with_derived
from pipeline.imports.event_contents import CLAIMED_AT, HAS_ID
from pipeline.sources.tables import LINE
from pipeline.store.warehouse.events import EVENT_SCHEMA

WITHOUT_ID: Final = "row"
_IDS: Final = ("event_id", "visitor_id", "user_id", "transaction_id")
_TEXTS: Final = {
    "experiment_id": MAX_ID_LENGTH,
    "variant_id": MAX_ID_LENGTH,
    "goal_id": MAX_ID_LENGTH,
    "url": MAX_URL_LENGTH,
    "selector": MAX_SELECTOR_LENGTH,
    "event_name": MAX_NAME_LENGTH,
    "type": MAX_NAME_LENGTH,
    "kind": MAX_NAME_LENGTH,
    "currency": MAX_NAME_LENGTH,
}
_OF_CONVERSIONS: Final = ("goal_id", "revenue_cents", "currency", "transaction_id", "kind")
_OF_TRACKED: Final = ("experiment_id", "variant_id", "url", "selector", "value")
_ASCII: Final = r"^[ -~]*$"
_ID: Final = r"^[!-~](?:[ -~]*[!-~])?$"
_TIME: Final = r"^[1-9]\d{3}-\d\d-\d\d[T ][0-2]\d:[0-5]\d:[0-5]\d(?:\.\d{3}|\.\d{6})?(?:Z|\+00:00)?$"
_AMOUNT: Final = r"^-?\d{1,15}(?:\.\d{1,15})?$"
_CENTS: Final = r"^\d{1,15}$"
# Lists and objects of other programs; a struct has the attributes of a described source.
_UNUSUAL: Final = (pl.List, pl.Array, pl.Object, pl.Binary, pl.Duration)
# JSON writes a byte in six at most, and puts names, quotes and commas around.
_JSON_GROWTH: Final = 6
_JSON_FRAME_BYTES: Final = 1_000


def decode_plain(
    rows: pl.DataFrame, attributes: Sequence[str], context: RequestContext, attributes_of: AttributesOf
) -> pl.DataFrame:
    """Decode the rows that are plainly valid: EVENT_SCHEMA with LINE, `CLAIMED_AT` and `HAS_ID`.

    The other rows are left out. `attributes` are the columns that attributes are built of.
    """
    kinds = [rows.schema[name] for name in attributes]
    is_usual = not any(isinstance(kind, _UNUSUAL) for kind in kinds)
    if not (_is_for_all(context) and is_usual and rows.schema.get("type") == pl.String):
        return nothing()
    # An attribute may have the name of a column of events.
    cells = {f"(attribute {place})": name for place, name in enumerate(attributes)}
    rows = rows.rename({name: cell for cell, name in cells.items()})
    named = [name for name in (*_IDS, *_TEXTS) if name in rows.columns]
    empty = [pl.lit(None, pl.String).alias(name) for name in (*_IDS, *_TEXTS) if name not in rows.columns]
    unread = [name for name in named if rows.schema[name] not in (pl.String, pl.Null)]
    usable = reduce(and_, (pl.col(name).is_null() for name in unread), pl.lit(value=True))
    typed = rows.filter(usable).with_columns(
        *(pl.col(name).cast(pl.String).replace("", None) for name in named), *empty
    )
    typed = typed.with_columns(*_times(typed), *_numbers(typed))
    is_conversion = pl.col("type") == CONVERSION
    valid = typed.filter(
        *_checks(typed, list(cells)),
        pl.when(is_conversion)
        .then(_is_conversion(context))
        .otherwise(_is_tracked(context))
        .fill_null(value=False),
    )
    return with_derived(_completed(valid, context), cells, attributes_of)


def _is_for_all(context: RequestContext) -> bool:
    """Tell whether no check but those of the values applies."""
    return (
        context.max_age_us is None
        and context.client is UNKNOWN_CLIENT
        and not context.is_excluded
        and context.browser_money is None
        and context.address_key is None
    )


def nothing() -> pl.DataFrame:
    """Build the frame of no rows."""
    return pl.DataFrame(schema={**EVENT_SCHEMA, LINE: pl.Int64, CLAIMED_AT: pl.Int64, HAS_ID: pl.Boolean})


def _times(rows: pl.DataFrame) -> Iterator[pl.Expr]:
    """Build the time of each row (epoch µs), and whether it was understood."""
    kind = rows.schema.get("timestamp", pl.Null())
    column = pl.col("timestamp") if "timestamp" in rows.columns else pl.lit(None, pl.Int64)
    is_given = column.is_not_null()
    if kind == pl.String:
        is_given &= column != ""
        local = column.str.slice(0, 19).str.replace("T", " ") + column.str.extract(r"(\.\d+)").fill_null("")
        parsed = local.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False).dt.epoch("us")
        claimed: pl.Expr = pl.when(column.str.contains(_TIME)).then(parsed)
    elif kind.is_integer():
        claimed = pl.when(column.is_between(0, MAX_MILLISECONDS)).then(column.cast(pl.Int64) * 1000)
    elif (isinstance(kind, pl.Datetime) and kind.time_unit != "ns") or kind == pl.Date:
        claimed = pl.when(column.dt.year().is_between(1, 9999)).then(column.dt.epoch("us"))
    else:
        claimed = pl.lit(None, pl.Int64)
    yield claimed.cast(pl.Int64).alias(CLAIMED_AT)
    yield (is_given.not_() | claimed.is_not_null()).alias("(has time)")


def _numbers(rows: pl.DataFrame) -> Iterator[pl.Expr]:
    """Build `value` and `revenue_cents`, and whether they were understood."""
    for name, pattern, target in (("value", _AMOUNT, pl.Float64), ("revenue_cents", _CENTS, pl.Int64)):
        kind = rows.schema.get(name, pl.Null())
        column = pl.col(name) if name in rows.columns else pl.lit(None, target)
        is_given = column.is_not_null()
        if kind == pl.String:
            is_given &= column != ""
            number = pl.when(column.str.contains(pattern)).then(column).cast(target, strict=False)
        elif kind.is_integer() or (kind.is_float() and target == pl.Float64):
            number = column.cast(target, strict=False)
        else:
            number = pl.lit(None, target)
        limits = (-MAX_VALUE, MAX_VALUE) if name == "value" else (0, MAX_CENTS)
        number = pl.when(number.is_between(*limits)).then(number)
        yield number.alias(name)
        yield (is_given.not_() | number.is_not_null()).alias(f"(has {name})")


def _checks(rows: pl.DataFrame, attributes: Sequence[str]) -> Iterator[pl.Expr]:
    """Build the checks that rows of both kinds have to pass."""
    filled = [column.name for column in rows if column.null_count() < len(column)]
    for name in filter(filled.__contains__, _IDS):
        is_id = pl.col(name).str.contains(_ID) & (pl.col(name).str.len_bytes() <= MAX_ID_LENGTH)
        yield pl.col(name).is_null() | (is_id & ~pl.col(name).is_in(list(JUNK_IDS)))
    for name in filter(filled.__contains__, _TEXTS):
        is_text = pl.col(name).str.contains(_ASCII) & (pl.col(name).str.len_bytes() <= _TEXTS[name])
        yield pl.col(name).is_null() | is_text
    yield pl.col("(has time)")
    texts = [name for name in filled if rows.schema[name] == pl.String]
    nested = itertools.chain.from_iterable(_texts_of(rows.schema[name], name) for name in attributes)
    sizes = [text.str.len_bytes().fill_null(0) for text in (*(pl.col(name) for name in texts), *nested)]
    room = (MAX_EVENT_BYTES - _JSON_FRAME_BYTES) // _JSON_GROWTH - 40 * rows.width
    room -= sum(len(name.encode()) for name in rows.columns)
    yield pl.sum_horizontal(pl.lit(0), *sizes) <= room


def _texts_of(kind: pl.DataType, name: str) -> Iterator[pl.Expr]:
    """Build the texts whose bytes are those of an attribute of several values."""
    if not isinstance(kind, pl.Struct):
        return
    if not has_texts_only(kind):
        yield pl.col(name).struct.json_encode()
        return
    for field in kind.fields:
        yield pl.col(name).struct.field(field.name)
        yield pl.lit(f'"{field.name}":null,')


def _is_tracked(context: RequestContext) -> pl.Expr:
    """Tell whether a row is a valid event that `track` takes."""
    is_complete = pl.lit(value=False)
    for name, kind in EVENT_TYPES.items():
        has_all = reduce(and_, (pl.col(field).is_not_null() for field in kind.required))
        is_complete |= (pl.col("type") == name) & has_all
    known = [
        f"{one}\n{variant}" for one, variants in context.project_ids.variants.items() for variant in variants
    ]
    pair = pl.concat_str("experiment_id", "variant_id", separator="\n")
    is_known = (pl.col("type") != "exposure") | pair.is_in(known)
    # Money of a custom event is read row by row.
    is_plain = pl.col("visitor_id").is_not_null() & pl.col("(has value)") & pl.col("revenue_cents").is_null()
    return is_complete & is_known & is_plain & pl.col("(has revenue_cents)")


def _is_conversion(context: RequestContext) -> pl.Expr:
    """Tell whether a row is a valid event that `convert` takes."""
    kind, goal = pl.col("kind"), pl.col("goal_id")
    is_refund = kind.fill_null(CONVERSION) == "refund"
    currency = pl.col("currency")
    return (
        (pl.col("visitor_id").is_not_null() | pl.col("user_id").is_not_null())
        & (kind.is_null() | kind.is_in(CONVERSION_KINDS))
        & (goal.is_not_null() | pl.col("event_name").is_not_null())
        & (goal.is_null() | goal.is_in(list(context.project_ids.goals)))
        & pl.col("(has revenue_cents)")
        & (~is_refund | pl.col("revenue_cents").is_not_null())
        & (currency.is_null() | currency.str.contains(r"^[A-Za-z]{3}$"))
    )


def _completed(rows: pl.DataFrame, context: RequestContext) -> pl.DataFrame:
    """Complete valid rows but for what follows from their attributes."""
    is_conversion = pl.col("type") == CONVERSION
    foreign = [pl.when(is_conversion).then(pl.col(name)).alias(name) for name in _OF_CONVERSIONS]
    foreign += [pl.when(~is_conversion).then(pl.col(name)).alias(name) for name in _OF_TRACKED]
    received = pl.lit(context.received_us, pl.Int64)
    claimed = pl.col(CLAIMED_AT)
    kept = rows.with_columns(*foreign, pl.col("event_id").is_not_null().alias(HAS_ID)).with_columns(
        pl.col("event_id").fill_null(WITHOUT_ID),
        pl.col("currency").str.to_uppercase(),
        (pl.col("kind") == "refund").fill_null(value=False).alias("is_refund"),
        pl.when(claimed > received + MAX_AHEAD_US)
        .then(received)
        .otherwise(claimed)
        .fill_null(received)
        .alias("occurred_at"),
        received.alias("received_at"),
        pl.lit(context.sender).alias("sender"),
    )
    keyed = kept["visitor_id"].fill_null(kept["user_id"])
    return kept.with_columns(
        hash_texts(keyed).alias("visitor_key"),
        *(hash_texts(kept[f"{name}_id"]).alias(f"{name}_key") for name in ("event", "user", "transaction")),
    )
