import numpy as np
import pytest

from engine.stats.arrays import FloatArray
from engine.stats.roots import falling_root, secant_root


def test_every_root_is_found_at_once() -> None:
    targets = np.array([0.1, 1.0, 50.0])
    roots = falling_root(lambda x: targets - x**3, np.zeros(3), np.ones(3))
    assert roots == pytest.approx(np.cbrt(targets), rel=1e-12)


def test_a_start_that_misses_the_root_is_widened_on_either_side() -> None:
    far = np.array([-300.0, 1000.0])
    assert falling_root(lambda x: far - x, np.zeros(2), np.ones(2)) == pytest.approx(far)


def test_a_steep_step_does_not_trap_the_search() -> None:
    root = falling_root(lambda x: np.tanh(1e4 * (0.3 - x)), np.array([-5.0]), np.array([80.0]))
    assert root == pytest.approx([0.3], rel=1e-9)


def test_no_roots_are_no_trouble() -> None:
    assert falling_root(lambda x: -x, np.empty(0), np.empty(0)).shape == (0,)


def test_nearly_straight_lines_are_solved_in_few_evaluations() -> None:
    evaluations = []

    def line(x: FloatArray) -> FloatArray:
        evaluations.append(x)
        # Roots of 3x - sqrt(1 + x): those of 9x² - x - 1.
        return np.array([1.0, 10.0]) * (3.0 * x - np.sqrt(1.0 + x))

    found = secant_root(line, np.zeros(2), np.full(2, 1e6), np.array([3.0, 30.0]))
    np.testing.assert_allclose(found, np.full(2, (1.0 + np.sqrt(37.0)) / 18.0), rtol=1e-14)
    assert len(evaluations) <= 6


def test_lines_that_stay_below_zero_end_at_the_far_end() -> None:
    found = secant_root(lambda x: x - 5.0, np.zeros(1), np.ones(1), np.ones(1))
    np.testing.assert_array_equal(found, 1.0)
