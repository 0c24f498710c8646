"""Moments: whatever the parts, together they are the whole."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from engine.errors import InvalidEvidenceError
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

MONEY = st.floats(-1e6, 1e6, width=64)
SAMPLES = arrays(np.float64, st.integers(0, 30), elements=MONEY)


def assert_same(left: Moments, right: Moments) -> None:
    scale = np.maximum(1.0, np.abs(right.mean))
    assert left.n == pytest.approx(right.n)
    assert left.mean / scale == pytest.approx(right.mean / scale, abs=1e-9)
    assert left.m2 == pytest.approx(right.m2, rel=1e-9, abs=1e-3)
    # Third moments of either sign cancel: the error is relative to their bound.
    assert left.m3 == pytest.approx(right.m3, abs=1e-9 * float(np.max(right.m2) ** 1.5 + 1.0) + 1e-3)


@given(SAMPLES, SAMPLES)
def test_parts_merge_to_the_whole(left: np.ndarray, right: np.ndarray) -> None:
    assert_same(Moments.of(left).merge(Moments.of(right)), Moments.of(np.concatenate([left, right])))


@given(SAMPLES, SAMPLES, SAMPLES)
def test_order_and_grouping_do_not_matter(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    first, second, third = Moments.of(a), Moments.of(b), Moments.of(c)
    assert_same(first.merge(second).merge(third), third.merge(second.merge(first)))


@given(SAMPLES)
def test_an_empty_cell_changes_nothing(values: np.ndarray) -> None:
    empty = Moments.of(np.empty(0))
    assert_same(Moments.of(values).merge(empty), Moments.of(values))
    assert_same(empty.merge(Moments.of(values)), Moments.of(values))


@given(st.lists(SAMPLES, min_size=1, max_size=6))
def test_summing_over_an_axis_is_merging_one_by_one(parts: list[np.ndarray]) -> None:
    stacked = Moments.stack([Moments.of(part) for part in parts])
    assert_same(stacked.sum_over(0), Moments.of(np.concatenate(parts)))


@given(arrays(np.float64, 40, elements=MONEY), arrays(np.int64, 40, elements=st.integers(0, 3)))
def test_groups_have_the_moments_of_their_values(values: np.ndarray, groups: np.ndarray) -> None:
    found = Moments.of_groups(values, groups, 5)
    for group in range(5):
        assert_same(found[group], Moments.of(values[groups == group]))


def test_large_means_do_not_cancel_the_variance() -> None:
    # A spread of 1 about 1e7: raw sums of squares keep no digit of it, nor would single precision.
    values = np.random.default_rng(3).normal(1e7, 1.0, 100_000)
    halves = Moments.of(values[:50_000]).merge(Moments.of(values[50_000:]))
    assert halves.variance == pytest.approx(np.var(values - 1e7, ddof=1), rel=1e-9)


def test_shares_have_the_moments_of_zeros_and_ones() -> None:
    assert_same(Moments.of_shares(3, 10), Moments.of([1.0] * 3 + [0.0] * 7))
    assert Moments.of_shares(0, 0).mean == 0


def test_one_value_has_no_variance() -> None:
    assert Moments.of([5.0]).variance == 0


@pytest.mark.parametrize(
    ("n", "mean", "m2"),
    [([1.0], [0.0], [-1.0]), ([-1.0], [0.0], [0.0]), ([1.0], [np.nan], [0.0]), ([1.0, 2.0], [0.0], [0.0])],
)
def test_numbers_that_no_sample_has_are_refused(n: list[float], mean: list[float], m2: list[float]) -> None:
    with pytest.raises(InvalidEvidenceError):
        Moments(np.array(n), np.array(mean), np.array(m2))


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="between 0 and n"):
        Moments.of_shares(11, 10)


def test_moments_of_sums_are_those_of_exact_fractions() -> None:
    values = [10**14 + 7 * number for number in range(9)]
    total, squares = sum(values), sum(value**2 for value in values)
    found = Moments.of_sums([9, 0], [total, 0], np.array([squares, 0], object))
    mean = Fraction(total, 9)
    assert found.mean[0] == float(mean)
    assert found.m2[0] == float(sum((value - mean) ** 2 for value in values))
    assert (found.n[1], found.mean[1], found.m2[1], found.m3[1]) == (0, 0, 0, 0)


def test_third_moments_of_sums_are_those_of_exact_fractions() -> None:
    values = [10**14 + 7 * number**2 for number in range(9)]
    sums = (sum(value**power for value in values) for power in (1, 2, 3))
    found = Moments.of_sums(9, *(np.array(total, object) for total in sums))
    mean = Fraction(sum(values), 9)
    assert float(found.m3) == float(sum((value - mean) ** 3 for value in values))


def test_cubes_that_no_values_have_count_as_unknown() -> None:
    # As if cubes were clamped at 10: twelve and two hundred come to less than the squares say.
    assert float(Moments.of_sums(3, 212, 40_144, 2_000).m3) == 0
    assert float(Moments.of_sums(3, 212, 40_144, 8_001_728).m3) > 0


def test_the_skewness_is_scipys() -> None:
    values = np.random.default_rng(4).lognormal(0, 1, 500)
    moments = Moments.of(values)
    skewness = moments.m3 / 500 / (moments.m2 / 500) ** 1.5
    assert float(skewness) == pytest.approx(stats.skew(values), rel=1e-12)


def test_a_third_moment_that_is_not_given_is_zero() -> None:
    assert Moments(np.ones(2), np.ones(2), np.ones(2)).m3.tolist() == [0, 0]


@pytest.mark.parametrize("value", [3.3, 1e9 + 0.1, -0.7])
def test_values_that_differ_by_rounding_only_are_one_value(value: float) -> None:
    """However they are summed: what rounding leaves would count as a variance, and as a difference."""
    same, groups = np.full(300_000, value), np.arange(300_000) % 3
    cells = Moments.of_groups(same, groups, 3)
    assert Moments.of(same).mean == value
    assert cells.mean.tolist() == [value] * 3
    for moments in (Moments.of(same), cells, cells[:1].merge(cells[1:2]), cells.sum_over(0)):
        assert (moments.mean == value).all()
        assert not moments.m2.any()
        assert not moments.m3.any()


@pytest.mark.parametrize("value", [3.3, 1e9 + 0.1])
def test_a_pair_of_which_one_value_is_constant_has_no_co_moment(value: float) -> None:
    drawn, same, groups = np.random.default_rng(1).random(300_000), np.full(300_000, value), np.zeros(300_000)
    for x, y in ((same, drawn), (drawn, same)):
        for pairs in (PairedMoments.of(x, y), PairedMoments.of_groups(x, y, groups.astype(int), 1)):
            assert not pairs.co.any()
            constant = pairs.x if x is same else pairs.y
            assert (constant.mean == value).all()
            assert not constant.m2.any()


def test_a_sum_that_is_rounded_is_the_same_value() -> None:
    # Ten times 0.1 is 0.9999999999999999 when it is added up.
    assert not Moments.of([sum([0.1] * 10), 1.0, 1.0]).m2.any()
    assert float(Moments.of([1.0 - 1e-12, 1.0, 1.0]).m2) > 0


def test_zeros_are_the_shares_of_no_successes() -> None:
    zeros, shares = Moments.of_zeros([[3, 0]]), Moments.of_shares([[0, 0]], [[3, 0]])
    assert [part.tolist() for part in (zeros.n, zeros.mean, zeros.m2, zeros.m3)] == [
        part.tolist() for part in (shares.n, shares.mean, shares.m2, shares.m3)
    ]
