import numpy as np
import pytest

from engine.stats.estimates import Estimate
from engine.stats.moments import Moments


def test_standard_error_is_that_of_a_mean() -> None:
    estimate = Estimate.of(Moments.of([1.0, 2.0, 3.0, 4.0]))
    # Sample variance 5/3 over 4 values.
    assert estimate.value == pytest.approx(2.5)
    assert estimate.variance == pytest.approx(5 / 12)


def test_fewer_than_two_visitors_are_no_estimate() -> None:
    estimate = Estimate.of(Moments.of_shares([0, 1, 1], [0, 1, 2]))
    assert estimate.defined.tolist() == [False, False, True]


def test_values_that_never_vary_have_no_z() -> None:
    constant = Estimate.of(Moments.of_shares([0], [100]))
    assert constant.defined.all()
    assert np.isnan(constant.minus(constant).z).all()
