"""CUPED by several covariates keeps its error rate in small samples, and finds more."""

import pytest

from engine.calibration.error_rates import calibrate
from engine.calibration.several_covariates import METHODS, CovariatesCase
from tests.examples import trials


@pytest.mark.many(seconds=9)
def test_adjusting_by_several_covariates_keeps_promises_and_adds_power() -> None:
    # Sixty visitors an arm: five slopes that cost no degrees of freedom would be too sure.
    case, runs = CovariatesCase(rate=50.0, visitors=60), trials(500, 2_000)
    (plain, adjusted) = next(calibrate([case], METHODS, runs=runs, seed=3))
    assert (plain.method.name, adjusted.method.name) == ("Welch, no covariates", "CUPED, several")
    assert plain.keeps_promise
    assert adjusted.keeps_promise
    assert abs(plain.power.value - 0.8) < 4 * plain.power.error
    assert adjusted.power.value > plain.power.value + 0.1
