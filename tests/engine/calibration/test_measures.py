"""Tests of counts, values and ratios keep their error rates in simulated experiments."""

import pytest

from engine.calibration.error_rates import calibrate
from engine.calibration.measures import METHODS, MeasureCase

CASES = (
    MeasureCase(measure="count", rate=1.5, visitors=600),
    MeasureCase(measure="count", rate=1.5, visitors=900, uneven=3),
    MeasureCase(measure="value", rate=1.0, visitors=400),
    MeasureCase(measure="ratio", rate=2.0, visitors=500),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_false_positives_and_coverage_are_as_promised_and_power_as_planned(case: MeasureCase) -> None:
    (rates,) = next(calibrate([case], METHODS, runs=2_000, seed=7))
    assert rates.keeps_error_rate
    assert rates.keeps_coverage
    # Four standard errors of 2,000 runs are 2 points, and 3.6 of power. A lift narrows the spread of clicks.
    assert rates.false_positives.value == pytest.approx(0.05, abs=0.02)
    if case.uneven == 1:
        assert rates.power.value == pytest.approx(0.8, abs=0.036 if case.measure != "ratio" else 0.06)


def test_a_measure_that_is_not_simulated_is_refused() -> None:
    with pytest.raises(ValueError, match="measures are 'count', 'value', 'ratio', not 'funnel'"):
        MeasureCase(measure="funnel", rate=1.0, visitors=100)  # type: ignore[arg-type]
