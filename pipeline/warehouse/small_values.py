"""Segment values of few visitors: counted as one, `other`, before any sum leaves a warehouse."""

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp

from pipeline.store.event_columns import OTHER
from pipeline.warehouse.expressions import NULL, big, choose, col, every, num, table, text

LEAST_VISITORS: Final = 5


def merged_values(columns: Sequence[str], variants: int, least: int) -> Iterator[tuple[str, exp.Select]]:
    """Yield a relation of each segment column: its values, and as what each counts.

    A value with fewer than `least` visitors counts as OTHER, and with them the next smallest where they have
    fewer together; where all values have fewer, none counts. Visitors are those of all days and variants, so
    that variants stay comparable; those who were shown several are not counted.
    """
    for column in columns:
        yield f"values_{column}", _ranked(column, variants)
        yield f"merged_{column}", _merged(column, least)


def with_merged_values(columns: Sequence[str], kept: Sequence[str]) -> exp.Select:
    """Select the visitors with the values that count; `kept` are their other columns."""
    merged = (col("merged", f"m_{column}").as_(column, quoted=True) for column in columns)
    rows = exp.select(*(col(name, "v").as_(name, quoted=True) for name in kept), *merged)
    rows = rows.from_(table("visitors_read").as_("v"), copy=False)
    for column in columns:
        own = col(column, "v").eq(col("value", f"m_{column}"))
        rows = rows.join(table(f"merged_{column}").as_(f"m_{column}"), on=own, join_type="left")
    return rows


def _ranked(column: str, variants: int) -> exp.Select:
    """Number the values from the rarest on, with the visitors of each, of those up to it, and of all."""
    is_counted = choose((col("variant") < num(variants), big(1)), otherwise=big(0))
    counted = (
        exp.select(
            col(column).as_("value", quoted=True), exp.Sum(this=is_counted).as_("visitors", quoted=True)
        )
        .from_(table("visitors_read"), copy=False)
        .where(exp.Not(this=col(column).is_(NULL.copy())))
        .group_by(col(column))
        .subquery("counted")
    )
    order = exp.Order(
        expressions=[exp.Ordered(this=col(name), nulls_first=True) for name in ("visitors", "value")]
    )
    rows = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    visitors = exp.Sum(this=col("visitors"))
    return exp.select(
        col("value"),
        col("visitors"),
        exp.Window(this=visitors, order=order, spec=rows).as_("running", quoted=True),
        exp.Window(this=exp.RowNumber(), order=order.copy()).as_("place", quoted=True),
        exp.Window(this=visitors.copy()).as_("everyone", quoted=True),
    ).from_(counted, copy=False)


def _merged(column: str, least: int) -> exp.Select:
    few, before = num(least), exp.paren(col("running") - col("visitors"))
    nothing = exp.cast(NULL.copy(), "TEXT")
    # What is before the first value of enough visitors has too few alone.
    completes = every((col("place") > num(1), before < few.copy()))
    merged = choose(
        (col("everyone") < few.copy(), nothing),
        (exp.or_(col("visitors") < few, completes), text(OTHER)),
        otherwise=col("value"),
    )
    rows = exp.select(col("value"), merged.as_("merged", quoted=True))
    return rows.from_(table(f"values_{column}"), copy=False)
