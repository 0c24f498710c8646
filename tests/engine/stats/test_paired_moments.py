"""Paired moments against NumPy's covariance and exact fractions."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

PAIRS = st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=20)
CENTS = st.integers(0, 10**12)


def moments_of(values: list[tuple[float, float]]) -> PairedMoments:
    array = np.array(values, np.float64).reshape(-1, 2)
    return PairedMoments.of(array[:, 0], array[:, 1])


def assert_same(left: PairedMoments, right: PairedMoments) -> None:
    scale = 1.0 + float(abs(right.m2_x) + abs(right.m2_y))
    for name in ("n", "mean_x", "mean_y"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=1e-9, atol=1e-6)
    for name in ("m2_x", "m2_y", "co"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=1e-9, atol=1e-9 * scale)
    for name in ("m3_x", "xxy", "xyy", "m3_y"):
        np.testing.assert_allclose(
            getattr(left, name), getattr(right, name), rtol=1e-8, atol=1e-7 * scale**1.5
        )


@given(first=PAIRS, second=PAIRS)
def test_merging_parts_equals_the_whole(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    assert_same(moments_of(first).merge(moments_of(second)), moments_of(first + second))


@given(st.lists(PAIRS, min_size=1, max_size=5))
def test_summing_cells_equals_merging_them(cells: list[list[tuple[float, float]]]) -> None:
    stacked = PairedMoments.stack([moments_of(cell) for cell in cells])
    assert_same(stacked.sum_over(0), moments_of([pair for cell in cells for pair in cell]))


def test_covariance_is_numpys() -> None:
    x, y = np.random.default_rng(1).multivariate_normal([3, -2], [[2, 1.2], [1.2, 5]], 1_000).T
    paired = PairedMoments.of(x, y)
    np.testing.assert_allclose(
        np.array([[paired.m2_x, paired.co], [paired.co, paired.m2_y]]) / 999, np.cov(x, y), rtol=1e-12
    )


def test_large_means_cancel_nothing() -> None:
    x, y = np.array([1e9, 1e9 + 1, 1e9 + 2]), np.array([2e9 + 2, 2e9 + 1, 2e9])
    halves = PairedMoments.of(x[:1], y[:1]).merge(PairedMoments.of(x[1:], y[1:]))
    assert halves.co == pytest.approx(-2.0)
    assert halves.m2_x == pytest.approx(2.0)


@given(st.lists(st.tuples(CENTS, CENTS), min_size=1, max_size=8))
def test_paired_moments_of_sums_are_those_of_exact_fractions(pairs: list[tuple[int, int]]) -> None:
    n, x, y = len(pairs), sum(x for x, _ in pairs), sum(y for _, y in pairs)
    xx, yy, xy = (sum(pair[i] * pair[j] for pair in pairs) for i, j in ((0, 0), (1, 1), (0, 1)))
    found = PairedMoments.of_sums(n, x=x, y=y, xx=xx, yy=yy, xy=xy)
    apart = sum((a - Fraction(x, n)) * (b - Fraction(y, n)) for a, b in pairs)
    assert found.co == float(apart)
    assert found.mean_y == float(Fraction(y, n))
    assert found.m2_x == Moments.of_sums(n, x, xx).m2


@given(st.lists(st.tuples(CENTS, CENTS), min_size=2, max_size=8))
def test_third_moments_of_sums_are_those_of_exact_fractions(pairs: list[tuple[int, int]]) -> None:
    def total(*columns: int) -> int:
        return sum(math.prod(pair[column] for column in columns) for pair in pairs)

    n = len(pairs)
    found = PairedMoments.of_sums(
        n,
        x=total(0),
        y=total(1),
        xx=total(0, 0),
        yy=total(1, 1),
        xy=total(0, 1),
        yyy=total(1, 1, 1),
        others=(total(0, 0, 0), total(0, 0, 1), total(0, 1, 1)),
    )
    apart = [(a - Fraction(total(0), n), b - Fraction(total(1), n)) for a, b in pairs]
    assert found.m3_x == float(sum(a * a * a for a, _ in apart))
    assert found.xxy == float(sum(a * a * b for a, b in apart))
    assert found.xyy == float(sum(a * b * b for a, b in apart))


def test_third_moments_that_contradict_the_squares_are_not_known() -> None:
    sums: dict[str, Any] = {"x": 3, "y": 3, "xx": 5, "yy": 5, "xy": 4, "yyy": 9}
    assert PairedMoments.of_sums(2, **sums, others=(9, 6, 6)).are_thirds_known
    assert not PairedMoments.of_sums(2, **sums, others=(9, 60, 6)).are_thirds_known
    assert not PairedMoments.of_sums(2, **sums).are_thirds_known


def test_a_part_without_third_moments_leaves_the_whole_without_them() -> None:
    known, unknown = moments_of([(1, 2), (2, 5)]), replace(moments_of([(3, 1), (7, 2)]), xxy=np.array(np.nan))
    assert not known.merge(unknown).are_thirds_known
    assert PairedMoments.of([], []).merge(known).are_thirds_known
