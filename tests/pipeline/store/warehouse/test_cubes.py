"""Sums of cubed cents at the ends of 64 bits, in SQL and in Polars."""

import duckdb
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.warehouse.cubes import CUBE_BASE, MOST_CUBED_CENTS, cube_parts, cube_sums

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
