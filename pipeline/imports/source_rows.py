"""Rows of a source of exposures or events, as the fields of the API's events."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from engine.currencies import minor_units
from pipeline.events.timestamps import MAX_AHEAD_US
from pipeline.sources.cell_values import NO_WORD, number_fault, numbers, yes_or_no
from pipeline.sources.definition import Source
from pipeline.sources.tables import LINE, BadRow, Chunk
from pipeline.sources.times import read_times

_FAULT: Final = "(fault)"
_AT: Final = "(time)"
_TIME_FAULT: Final = "(time fault)"
_CENTS: Final = "(cents)"


def event_fields(chunk: Chunk, source: Source, *, now_us: int, currency: str) -> Chunk:
    """Build the event of each row; a row with an unusable time or amount is a bad row, with the reason.

    Amounts are of `currency` (ISO 4217) where no column has one. The experiment and the variant of an
    exposure are as in the row; whether they exist is checked later.
    """
    columns = source.columns
    timestamp = columns.timestamp or ""
    at, fault = read_times(chunk.rows, timestamp, source.time_zone, now_us=now_us)
    rows = chunk.rows.with_columns(at.alias(_AT), fault.alias(_TIME_FAULT))
    if columns.revenue is not None:
        rows = rows.with_columns(_minor(replace(chunk, rows=rows), source, currency).alias(_CENTS))
    faults = _faults(source, replace(chunk, rows=rows), now_us)
    checked = rows.with_columns(pl.coalesce(*faults, pl.lit(None, pl.String)).alias(_FAULT))
    faulty = checked.filter(pl.col(_FAULT).is_not_null()).select(LINE, _FAULT)
    usable = checked.filter(pl.col(_FAULT).is_null()).select(
        LINE, *_fields(source, chunk), *_segments(source)
    )
    bad = (BadRow(line, fault, chunk.table) for line, fault in faulty.iter_rows())
    return replace(chunk, rows=usable, bad_rows=(*chunk.bad_rows, *bad))


def _fields(source: Source, chunk: Chunk) -> Iterator[pl.Expr]:
    columns = source.columns
    texts = {
        "visitor_id": columns.visitor,
        "user_id": columns.user,
        "event_id": columns.event_id,
        "url": columns.url,
    }
    yield from (_text(name).alias(field) for field, name in texts.items() if name is not None)
    yield pl.from_epoch(pl.col(_AT), time_unit="us").dt.replace_time_zone("UTC").alias("timestamp")
    if source.kind == "exposures":
        named = columns.experiment
        yield pl.lit("exposure").alias("type")
        yield (_text(named) if named else pl.lit(source.experiment_of_all)).alias("experiment_id")
        yield _text(columns.variant or "").alias("variant_id")
        return
    yield (_text(columns.event) if columns.event else pl.lit(source.event)).alias("event_name")
    if not source.has_money:
        yield pl.lit("custom_event").alias("type")
        if columns.value is not None:
            yield numbers(columns.value, chunk.rows.schema[columns.value], chunk.delimiter).alias("value")
        return
    yield pl.lit("conversion").alias("type")
    yield from _order(source)


def _order(source: Source) -> Iterator[pl.Expr]:
    columns = source.columns
    if columns.transaction is not None:
        yield _text(columns.transaction).alias("transaction_id")
    if columns.currency is not None:
        yield _text(columns.currency).alias("currency")
    if columns.revenue is not None:
        is_refund = pl.col(_CENTS) < 0
        if columns.refund is not None:
            is_refund |= yes_or_no(columns.refund) == 1
        yield pl.col(_CENTS).abs().alias("revenue_cents")
        yield pl.when(is_refund).then(pl.lit("refund")).otherwise(pl.lit("conversion")).alias("kind")


def _segments(source: Source) -> list[pl.Expr]:
    # A segment may have the name of a field, such as `type`; as an attribute it is no field.
    segments = [_text(name).alias(name) for name in source.columns.segments]
    return [pl.struct(segments).alias("attributes")] if segments else []


def _text(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String)


def _minor(chunk: Chunk, source: Source, currency: str) -> pl.Expr:
    """Convert amounts of major units to minor ones of the row's currency; null where it is no amount."""
    rows, revenue = chunk.rows, source.columns.revenue or ""
    units: pl.Expr = pl.lit(minor_units(currency))
    if source.columns.currency is not None:
        codes = rows[source.columns.currency].cast(pl.String).drop_nulls().unique().to_list()
        by_code = {code: minor_units(code.upper()) for code in codes if code}
        units = _text(source.columns.currency).replace_strict(
            by_code, default=minor_units(currency), return_dtype=pl.Int64
        )
    cents = (numbers(revenue, rows.schema[revenue], chunk.delimiter) * units).round()
    return pl.when(cents.is_finite()).then(cents).cast(pl.Int64, strict=False)


def _faults(source: Source, chunk: Chunk, now_us: int) -> Sequence[pl.Expr]:
    columns, schema = source.columns, chunk.rows.schema
    ahead = pl.col(_AT) - now_us
    hours = (ahead / 3_600_000_000).round(1)
    tests = [
        (pl.col(_TIME_FAULT).is_not_null(), pl.col(_TIME_FAULT)),
        (
            ahead > MAX_AHEAD_US,
            pl.format(
                "'{}' is {} hours in the future; is time_zone right?", pl.lit(columns.timestamp), hours
            ),
        ),
    ]
    needed = [name for name in (columns.variant, columns.experiment, columns.event) if name is not None]
    tests.extend((_is_empty(name), pl.lit(f"'{name}' is empty")) for name in needed)
    if columns.value is not None:
        kind = schema[columns.value]
        is_number = numbers(columns.value, kind, chunk.delimiter).is_finite()
        tests.append(
            (
                ~_is_empty(columns.value) & ~is_number.fill_null(value=False),
                number_fault(columns.value, kind, "a number", chunk.delimiter),
            )
        )
    if columns.revenue is not None:
        tests.append(
            (
                ~_is_empty(columns.revenue) & pl.col(_CENTS).is_null(),
                number_fault(columns.revenue, schema[columns.revenue], "an amount", chunk.delimiter),
            )
        )
    if columns.refund is not None:
        tests.append((yes_or_no(columns.refund).is_null(), pl.lit(f"'{columns.refund}' {NO_WORD}")))
    return [pl.when(test).then(reason) for test, reason in tests]


def _is_empty(name: str) -> pl.Expr:
    return _text(name).fill_null("").str.strip_chars() == ""
