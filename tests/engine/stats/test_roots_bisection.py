import numpy as np
import pytest

from engine.stats.roots import bisect


def test_roots_are_found_elementwise_to_the_last_bit() -> None:
    squares = np.array([4.0, 2.0, 1e-8])
    np.testing.assert_allclose(
        bisect(lambda x: squares - x**2, 0.0, np.full(3, 10.0)), np.sqrt(squares), rtol=1e-15
    )


def test_a_function_that_never_falls_below_zero_gives_the_far_end() -> None:
    assert bisect(lambda x: 1.0 + x, 0.0, 5.0) == pytest.approx(5.0)
