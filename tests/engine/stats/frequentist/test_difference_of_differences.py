import numpy as np
import pytest
from scipy import stats

from engine.stats.estimates import Estimate
from engine.stats.frequentist.difference_of_differences import difference_of_differences
from engine.stats.moments import Moments


def test_it_is_the_interaction_of_a_saturated_linear_model() -> None:
    random = np.random.default_rng(5)
    values = random.normal(10.0, 2.0, (2, 2, 400)) + np.array([[0.0, 1.0], [2.0, 4.0]])[..., None]
    change = difference_of_differences(Estimate.of(Moments.of(values)), control=0, other_control=0)
    # Least squares on both indicators and their product; the variance of each cell is HC2.
    a, b = (np.repeat(np.indices((2, 2))[axis].ravel(), 400) for axis in (0, 1))
    design = np.column_stack([np.ones(1600), a, b, a * b])
    coefficients, *_ = np.linalg.lstsq(design, values.reshape(-1), rcond=None)
    inverse = np.linalg.inv(design.T @ design)
    residuals = values.reshape(-1) - design @ coefficients
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    robust = inverse @ (design.T * (residuals**2 / (1.0 - leverage))) @ design @ inverse
    assert change.difference.value[1, 1] == pytest.approx(coefficients[3])
    assert change.difference.variance[1, 1] == pytest.approx(robust[3, 3])


def test_cells_beside_a_control_or_without_visitors_are_no_comparison() -> None:
    moments = Moments.of_shares([[20, 30, 0], [25, 10, 9]], [[100, 100, 0], [100, 100, 90]])
    found = difference_of_differences(Estimate.of(moments), control=1, other_control=0)
    assert np.isfinite(found.log_p).tolist() == [[False, True, False], [False, False, False]]
    assert found.difference.value[0, 1] == pytest.approx((0.3 - 0.1) - (0.2 - 0.25))
    once = np.log(2 * stats.norm.sf(abs(found.difference.value / np.sqrt(found.difference.variance))))
    assert found.log_p[0, 1] > once[0, 1]
