"""Simulated visitors have the lift that is asked for, and the sums of their values."""

import numpy as np
import pytest

from engine.calibration.measure_errors.measure_cells import SHAPES, SummedShape
from engine.calibration.measure_errors.simulated_visitors import ArmSums

SUMMED = [shape for shape in SHAPES if isinstance(shape, SummedShape) and "Pareto" not in shape.name]


@pytest.mark.parametrize("shape", SUMMED, ids=lambda shape: f"{shape.measure}, {shape.name}")
def test_an_arm_has_the_lift_that_is_asked_for(shape: SummedShape) -> None:
    rng = np.random.default_rng(1)
    control, variant = (_metric(shape.draw(rng, (200, 4_000), factor)) for factor in (1.0, 1.25))
    error = np.sqrt(np.var(control) + np.var(variant)) / np.sqrt(200) / control.mean()
    assert variant.mean() / control.mean() == pytest.approx(1.25, abs=5.0 * error)
    assert error < 0.05


def _metric(arm: ArmSums) -> np.ndarray:
    x = arm.orders.x
    return arm.value.total / np.where(x.n > 0, x.total, arm.value.n)


def test_sums_are_those_of_the_values() -> None:
    y, x = np.array([[0.0, 2.0, 0.0, 4.0]]), np.array([[1, 2, 3, 4]])
    arm = ArmSums.of_values(y, x, 10.0 * y)
    values = ArmSums.stack([arm, arm], axis=1).values()
    assert values.value.n.tolist() == [[4.0, 4.0]]
    assert values.nonzero.tolist() == [[2.0, 2.0]]
    assert values.largest_orders.tolist() == [[4.0, 4.0]]
    assert values.orders.mean_x.tolist() == [[2.5, 2.5]]
    assert values.before.mean_x.tolist() == [[15.0, 15.0]]
    assert values.before_orders.n.tolist() == [[4.0, 4.0]]
    # Deviations -15, 5, -15, 25 times -1.5, 0.5, -1.5, 2.5 times -1.5, -0.5, 0.5, 1.5.
    assert values.triple.tolist() == [[-33.75 - 1.25 + 11.25 + 93.75] * 2]
