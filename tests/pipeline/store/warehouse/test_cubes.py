"""Sums of cubed cents at the ends of 64 bits, in SQL and in Polars."""

import math

import duckdb
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.warehouse.cubes import (
    CUBE_BASE,
    MOST_CUBED_CENTS,
    are_plain,
    cube_parts,
    cube_sums,
    plain_sums,
)

LEAST, MOST = -(2**63), 2**63 - 1
CENTS = st.one_of(st.integers(LEAST, MOST), st.integers(-(10**6), 10**6), st.integers(-(10**9), 10**9))


def in_sql(cents: list[int], repeats: int = 1) -> tuple[int, int]:
    high, low = cube_sums("cents")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE amounts (cents BIGINT)")
        connection.executemany("INSERT INTO amounts VALUES (?)", [[one] for one in cents])
        ((first, second),) = connection.execute(
            f"SELECT {high}, {low} FROM amounts, range({repeats})"  # noqa: S608  # no input of a caller
        ).fetchall()
    return int(first), int(second)


def in_plain_sql(cents: list[int]) -> tuple[bool, int]:
    """Return whether all are small, and the sum of cubes that is right then."""
    high, low = plain_sums("cents", "cents", "cents")
    table = "(SELECT unnest(?::HUGEINT[]) AS cents)"
    with duckdb.connect() as connection:
        ((is_plain, first, second),) = connection.execute(
            f"SELECT {are_plain('cents')}, {high}, {low} FROM {table}",  # noqa: S608  # as above
            [cents],
        ).fetchall()
    return is_plain, int(first) * CUBE_BASE + int(second)


def in_polars(cents: list[int]) -> tuple[int, int]:
    high, low = cube_parts(pl.col("cents"))
    frame = pl.DataFrame({"cents": cents}, schema={"cents": pl.Int64})
    ((first, second),) = frame.select(high.sum().alias("high"), low.sum().alias("low")).rows()
    return first, second


def clamped(cents: int) -> int:
    return max(-MOST_CUBED_CENTS, min(cents, MOST_CUBED_CENTS))


@given(st.lists(CENTS, min_size=1, max_size=20))
def test_both_parts_make_the_sum_of_cubes_and_agree(cents: list[int]) -> None:
    high, low = in_polars(cents)
    assert high * CUBE_BASE + low == sum(clamped(one) ** 3 for one in cents)
    assert in_sql(cents) == (high, low)


def test_the_ends_of_64_bits_neither_raise_nor_wrap() -> None:
    for end, sign in ((LEAST, -1), (MOST, 1)):
        high, low = in_sql([end], repeats=1_000_000)
        assert high * CUBE_BASE + low == sign * 1_000_000 * MOST_CUBED_CENTS**3
        assert in_polars([end] * 1_000) == (high // 1_000, low // 1_000)


def test_ten_million_visitors_at_the_bound_fit_in_38_digits() -> None:
    largest = max(
        abs(part) for cents in (MOST_CUBED_CENTS, MOST_CUBED_CENTS - 1) for part in in_polars([cents])
    )
    assert largest * 10**7 < 10**38 - 1


def test_plain_sums_are_those_of_numbers_whose_squares_are_below_the_base() -> None:
    edge = math.isqrt(CUBE_BASE)
    for cents in ([edge, -edge, 7], [edge] * 1_000):
        assert in_plain_sql(cents) == (True, sum(one**3 for one in cents))
    for cents in ([edge + 1], [3, -edge - 1]):
        assert in_plain_sql(cents)[0] is False
