"""Sums of cubed cents, and of products of three numbers, in two columns of 128 bits that can't overflow.

c³ = high · CUBE_BASE + low with high = c · (c² // CUBE_BASE) and low = c · (c² mod CUBE_BASE): both are sums
of integers, so those of different visitors add up exactly and can be subtracted again. An amount beyond
MOST_CUBED_CENTS counts as that many, in cubes alone; the sums of more visitors than any store holds fit then.
`Moments.of_sums` takes a third moment that such amounts falsify as not known.
"""

from typing import Final

import polars as pl

CUBE_BASE: Final = 10**15
MOST_CUBED_CENTS: Final = 10**15
# Up to here c² is below CUBE_BASE, so that c³ is all in the lower part. DuckDB divides 128 bits slowly.
_PLAIN: Final = 31_622_776


def cube_parts(cents: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Build the expressions of both parts of the cube of an integer column."""
    clamped = cents.clip(-MOST_CUBED_CENTS, MOST_CUBED_CENTS).cast(pl.Int128)
    square = clamped * clamped
    return clamped * (square // CUBE_BASE), clamped * (square % CUBE_BASE)


def cube_sums(cents: str) -> tuple[str, str]:
    """Build the SQL of the sums of both parts of the cube of an integer expression."""
    return product_sums(cents, cents, cents)


def plain_sums(*numbers: str) -> tuple[str, str]:
    """Build the SQL of what `product_sums` gives of columns of 128 bits that are all `are_plain`."""
    return "0", f"sum({' * '.join(numbers)})::DECIMAL(38, 0)"


def are_plain(number: str) -> str:
    """Build the SQL of whether an integer expression is small in every row, or counted in none."""
    return f"coalesce(max(abs({number})) <= {_PLAIN}, true)"


def product_sums(*numbers: str) -> tuple[str, str]:
    """Build the SQL of the sums of both parts of the product of three integer expressions."""
    first, second, third = numbers
    wide = [f"least(greatest({one}, -{MOST_CUBED_CENTS}), {MOST_CUBED_CENTS})::HUGEINT" for one in numbers]
    product = f"({wide[1]} * {wide[2]})"
    are_small = (f"{one} BETWEEN -{_PLAIN} AND {_PLAIN}" for one in dict.fromkeys(numbers))
    choice = f"CASE WHEN {' AND '.join(are_small)} THEN"
    high = f"{choice} 0::HUGEINT ELSE {wide[0]} * ({product} // {CUBE_BASE}) END"
    low = f"{choice} {first}::HUGEINT * {second} * {third} ELSE {wide[0]} * ({product} % {CUBE_BASE}) END"
    return f"sum({high})::DECIMAL(38, 0)", f"sum({low})::DECIMAL(38, 0)"
