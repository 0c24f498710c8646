"""Bins of values: round edges, every value in one of them, and counts as NumPy's histogram has them."""

import numpy as np
import pytest

from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.value_bins import bin_edges, count_in_bins, nice_step, value_at, without_zeros


def test_steps_are_round_numbers() -> None:
    assert [nice_step(least) for least in (0.011, 0.3, 7, 1000)] == [0.02, 0.5, 10, 1000]


def test_counts_are_those_of_a_histogram_with_the_larger_values_in_the_last_bin() -> None:
    values = np.append(np.random.default_rng(3).lognormal(3, 1, 5000), [1e6, 1e7])
    counts = ValueCounts.of(values)
    edges = bin_edges([counts], most=40)
    assert 20 <= len(edges) <= 42
    assert np.diff(edges) == pytest.approx(nice_step(float(edges[1] - edges[0])))
    expected, _ = np.histogram(np.minimum(values, edges[-1]), edges)
    assert count_in_bins(counts, edges).tolist() == expected.tolist()
    assert value_at(counts, 0.5) == np.quantile(values, 0.5, method="inverted_cdf")


def test_bins_hold_the_values_of_all_arms() -> None:
    arms = [ValueCounts.of([1, 2, 2]), ValueCounts.of([-3, 0, 8])]
    edges = bin_edges(arms, most=16)
    assert (edges == np.rint(edges)).all()
    assert [count_in_bins(one, edges).sum() for one in arms] == [3, 3]
    assert (edges[0] <= -3, edges[-1] > 8) == (True, True)
    assert without_zeros(arms[1]).values.tolist() == [-3, 8]
