"""Expressions of counting: whole numbers, exact rounding, local days and cubes, in every dialect alike."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from sqlglot import exp

from engine.local_days import utc_offsets
from pipeline.rollup.counting_rules import DAY_US
from pipeline.store.warehouse.cubes import CUBE_BASE, MOST_CUBED_CENTS
from pipeline.warehouse.dialects.dialect import Dialect, Expr

NULL: Final = exp.Null()
RELATION: Final = "truelift_"
_BIGINT: Final = exp.DataType.build("BIGINT")
_TEXT: Final = exp.DataType.build("TEXT")


def col(name: str, table: str | None = None) -> exp.Column:
    """Name a column, always quoted: engines reserve other words, and fold letters otherwise."""
    return exp.column(name, table=table, quoted=True)


def table(name: str) -> exp.Table:
    """Name a relation of a statement, otherwise than any table of a team."""
    return exp.Table(this=relation_name(name))


def relation_name(name: str) -> exp.Identifier:
    """Build the name of a relation of a statement."""
    return exp.to_identifier(f"{RELATION}{name}", quoted=True)


def num(number: float) -> Expr:
    """Write a number."""
    return exp.convert(number)


def big(value: Expr | int) -> Expr:
    """Take a whole number of 64 bits: engines differ in the types of branches, sums and ABS."""
    return exp.Cast(this=num(value) if isinstance(value, int) else value.copy(), to=_BIGINT.copy())


def text(value: Expr | str) -> Expr:
    """Take a text."""
    return exp.Cast(this=exp.convert(value) if isinstance(value, str) else value.copy(), to=_TEXT.copy())


def wide(dialect: Dialect, value: Expr) -> Expr:
    """Take a whole number of at least 38 digits."""
    return exp.Cast(this=value.copy(), to=dialect.wide.copy())


def choose(*cases: tuple[Expr, Expr], otherwise: Expr) -> Expr:
    """Build CASE WHEN … THEN …; the cases are tried in order."""
    case = exp.Case()
    for condition, value in cases:
        case = case.when(condition, value)
    return case.else_(otherwise) if cases else otherwise


def every(conditions: Iterable[Expr]) -> Expr:
    """Join conditions by AND."""
    return exp.and_(*conditions)


def numbered(partition: Sequence[Expr], order: Sequence[Expr]) -> Expr:
    """Build ROW_NUMBER() over rows in an order, in which nulls are first."""
    ordered = exp.Order(expressions=[exp.Ordered(this=one, nulls_first=True) for one in order])
    return exp.Window(this=exp.RowNumber(), partition_by=list(partition), order=ordered)


def half_even(value: Expr) -> Expr:
    """Round a double to the nearest whole number, ties to the even one: ROUND differs between engines."""
    is_tie = exp.Abs(this=exp.paren(value - exp.Floor(this=value.copy()))).eq(num(0.5))
    even = exp.Round(this=exp.paren(value.copy()) / num(2.0)) * num(2.0)
    return choose((is_tie, even), otherwise=exp.Round(this=value.copy()))


def half_away(value: Expr) -> Expr:
    """Round a double to the nearest whole number, ties away from zero."""
    size = exp.Abs(this=value.copy())
    whole = exp.Floor(this=size.copy())
    rounded = choose(((size - whole.copy()) >= num(0.5), whole.copy() + num(1)), otherwise=whole)
    return choose((value.copy() < num(0), exp.Neg(this=exp.paren(rounded.copy()))), otherwise=rounded)


def local_day(dialect: Dialect, moment: Expr, first_us: int, last_us: int, timezone: str) -> Expr:
    """Take microseconds since 1970, between two moments, to local days since 1970.

    The offsets of the zone are ours, so that days depend on no session and on no engine's copy of the zones.
    """
    (_, first), *later = utc_offsets(first_us, last_us, timezone)
    changes = [(moment.copy() >= num(start), big(offset)) for start, offset in reversed(later)]
    shifted = exp.paren(moment.copy() + choose(*changes, otherwise=big(first)))
    return big(dialect.quotient(shifted, num(DAY_US)))


def clamped(dialect: Dialect, number: Expr) -> Expr:
    """Take a whole number as it counts in products of three: see `pipeline.store.warehouse.cubes`."""
    return wide(
        dialect,
        choose(
            (number > num(MOST_CUBED_CENTS), big(MOST_CUBED_CENTS)),
            (number < num(-MOST_CUBED_CENTS), big(-MOST_CUBED_CENTS)),
            otherwise=number.copy(),
        ),
    )


def high_part(dialect: Dialect, first: Expr, second: Expr) -> Expr:
    """Divide the product of two clamped numbers by CUBE_BASE, towards 0."""
    base = wide(dialect, num(CUBE_BASE))
    product = exp.paren(first * second)
    if first == second:
        return wide(dialect, dialect.quotient(product, base))
    # Engines divide negative numbers otherwise.
    size = wide(dialect, dialect.quotient(exp.Abs(this=product), base))
    return choose((product < num(0), exp.Neg(this=size)), otherwise=size.copy())


def third_parts(dialect: Dialect, factors: Sequence[Expr], high: Expr) -> tuple[Expr, Expr]:
    """Build both parts of the product of three clamped numbers, given the `high_part` of the last two."""
    first, second, third = factors
    return first * high, first * exp.paren(second * third - high * wide(dialect, num(CUBE_BASE)))


def added(terms: Sequence[Expr]) -> Expr:
    """Add up expressions."""
    return reduce(lambda left, right: left + right, terms)
