"""Visitors that decide a ratio, and shares of one visitor, known or bounded by sums."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.comparison.comparable import (
    are_skewnesses_known,
    deciding_visitors,
    largest_shares,
    least_nonzero,
    most_of_one,
)
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.stats.paired_moments import PairedMoments
from tests.observations import observed

VALUES = st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 1_000)), min_size=1, max_size=30)


@given(VALUES)
def test_sums_bound_what_single_visitors_have(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, np.float64).T
    pairs = PairedMoments.of(x, y)
    assert least_nonzero(pairs) <= np.count_nonzero(y)
    if x.sum():
        assert most_of_one(pairs) >= x.max() / x.sum() - 1e-12


def test_equal_numerators_and_one_denominator_are_told_exactly() -> None:
    pairs = PairedMoments.of([0.0, 0.0, 7.0], [2.0, 2.0, 0.0])
    assert least_nonzero(pairs) == 2
    assert most_of_one(pairs) == pytest.approx(1.0)


def test_known_visitors_come_before_bounds() -> None:
    pairs = PairedMoments.of([[[1.0, 2.0, 5.0]], [[1.0, 1.0, 2.0]]], [[[0.0, 1.0, 9.0]], [[1.0, 0.0, 0.0]]])
    values = replace(VisitorValues.of(pairs.y.map(np.transpose)), orders=pairs.map(np.transpose))
    evidence = observed([3, 3], [3, 3], values=values)
    assert deciding_visitors(evidence).tolist() == [[1, 1]]
    assert largest_shares(evidence)[0].tolist() == pytest.approx([30**0.5 / 8, 6**0.5 / 4])
    known = replace(values, nonzero=np.array([[2.0, 1.0]]), largest_orders=np.array([[5.0, np.nan]]))
    evidence = replace(evidence, values=known)
    assert deciding_visitors(evidence).tolist() == [[2, 1]]
    assert largest_shares(evidence)[0].tolist() == pytest.approx([5 / 8, 6**0.5 / 4])


def test_goals_that_are_no_ratios_are_decided_by_conversions() -> None:
    evidence = observed([100, 100], [9, 11])
    assert deciding_visitors(evidence).tolist() == [[9, 11]]
    assert not largest_shares(evidence).any()


def test_skewness_has_to_be_known_in_unequal_arms_only() -> None:
    visitors, nothing = np.array([1_000, 1_000, 900, 400]), np.zeros((1, 4), bool)
    assert are_skewnesses_known(visitors, nothing, 0).tolist() == [[True, True, True, False]]
    assert are_skewnesses_known(visitors, ~nothing, 0).all()
