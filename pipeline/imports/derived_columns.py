"""Columns of events that follow from attributes and address, worked out once for each combination."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import polars as pl

from pipeline.events.attributes import UNKNOWN_CLIENT, InvalidAttributesError, segments_of
from pipeline.imports.event_contents import CLAIMED_AT, HAS_ID
from pipeline.sources.tables import LINE
from pipeline.store.event_columns import EVENT_DIMENSIONS
from pipeline.store.warehouse.events import EVENT_SCHEMA

# Builds the attributes of a row that has only these columns.
AttributesOf = Callable[[dict[str, Any]], Mapping[str, Any] | None]
_DERIVED: Final = ("is_bot", *EVENT_DIMENSIONS, "custom", "header_fields")


def with_derived(rows: pl.DataFrame, cells: Mapping[str, str], attributes_of: AttributesOf) -> pl.DataFrame:
    """Add what follows from attributes and address, worked out once for each combination of them.

    Rows with attributes that are refused are left out.
    """
    has_query = pl.col("url").str.contains("?", literal=True)
    address = pl.col("url") if cells else pl.when(has_query).then(pl.col("url"))
    exact = {f"(exact) {name}": key for name in cells for key in _exact_keys(name, rows.schema[name])}
    groups = (
        rows.select(
            address.alias("url"),
            pl.col("user_id").is_not_null().alias("is_user"),
            *cells,
            **exact,
        )
        .with_row_index("row")
        .group_by("url", "is_user", *cells, *exact)
        .agg("row")
    )
    found: list[tuple[Any, ...]] = []
    for url, is_user, *values, places in groups.select("url", "is_user", *cells, "row").iter_rows():
        # The decoder of single rows refuses them in a sentence.
        with suppress(InvalidAttributesError, RecursionError):
            given = attributes_of(dict(zip(cells.values(), values, strict=True)))
            segments = segments_of(given, url, UNKNOWN_CLIENT, is_user=is_user)
            found.append((segments.is_bot, *segments.values, segments.custom, segments.header_fields, places))
    kinds = {name: EVENT_SCHEMA[name] for name in _DERIVED}
    derived = pl.DataFrame(found, schema={**kinds, "row": pl.List(pl.UInt32)}, orient="row")
    places = derived.select("row").with_row_index("group").explode("row", empty_as_null=False).sort("row")
    kept = rows if places.height == rows.height else rows[places["row"]]
    whole = kept.with_columns(derived.drop("row")[places["group"]])
    missing = [
        pl.lit(None, kind).alias(name) for name, kind in EVENT_SCHEMA.items() if name not in whole.columns
    ]
    return whole.with_columns(missing).select(
        *(pl.col(name).cast(kind) for name, kind in EVENT_SCHEMA.items()), LINE, CLAIMED_AT, HAS_ID
    )


def has_texts_only(kind: pl.Struct) -> bool:
    """Tell whether every field of a struct is text."""
    return all(field.dtype == pl.String for field in kind.fields)


def _exact_keys(name: str, kind: pl.DataType) -> Iterator[pl.Expr]:
    """Build what else tells values apart that group as one: 0.0 and -0.0."""
    if kind.is_float():
        yield 1 / pl.col(name) < 0
    elif isinstance(kind, pl.Struct) and not has_texts_only(kind):
        yield pl.col(name).struct.json_encode()
