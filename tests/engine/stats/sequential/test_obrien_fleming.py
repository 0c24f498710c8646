import mpmath
import numpy as np
import pytest

from engine.stats.sequential.obrien_fleming import critical_value, log_crossing, log_p_value


def exact_crossing(height: float) -> float:
    """The reflection series at 50 digits."""
    with mpmath.workdps(50):
        total = mpmath.nsum(
            lambda k: (-1) ** int(k) * mpmath.erfc((2 * k + 1) * mpmath.mpf(height) / mpmath.sqrt(2)) * 2,
            [0, 60],
            method="direct",
        )
        return float(mpmath.log(total))


@pytest.mark.parametrize("height", [0.4, 0.7, 0.999, 1.0, 1.001, 1.96, 2.2414, 5.0, 12.0, 35.0])
def test_chance_of_leaving_is_that_of_the_reflection_series(height: float) -> None:
    assert log_crossing(height) == pytest.approx(exact_crossing(height), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 0.0005])
def test_p_is_below_alpha_exactly_beyond_the_critical_value(alpha: float) -> None:
    fractions = np.array([0.01, 0.3, 0.8, 1.0])
    critical = critical_value(fractions, alpha)
    assert (log_p_value(critical * (1 + 1e-9), fractions) < np.log(alpha)).all()
    assert (log_p_value(critical * (1 - 1e-9), fractions) > np.log(alpha)).all()


def test_little_is_asked_for_beyond_a_single_look_at_the_end_and_much_at_the_start() -> None:
    # Published as the limit of O'Brien and Fleming's constants for many looks.
    assert critical_value(1.0, 0.05) == pytest.approx(2.2414, abs=1e-4)
    assert critical_value(0.25, 0.05) == pytest.approx(2 * 2.2414, abs=1e-3)
    assert critical_value(0.0, 0.05) == np.inf
    assert critical_value(1.3, 0.05) == critical_value(1.0, 0.05)


def test_looking_after_every_visitor_keeps_the_level() -> None:
    rng = np.random.default_rng(9)
    steps = 1_500
    paths = rng.standard_normal((4_000, steps)).cumsum(axis=1)
    seen = np.arange(1, steps + 1)
    crossed = (np.abs(paths / np.sqrt(seen)) > critical_value(seen / steps, 0.05)).any(axis=1)
    # 4,000 paths tell 5% to within 0.35 points; steps miss a little of what lies between them.
    assert 0.035 < crossed.mean() < 0.0605


def test_what_is_unknown_stays_so_and_the_surest_has_a_finite_log() -> None:
    assert np.isnan(log_p_value(np.nan, 0.5))
    assert np.isfinite(log_p_value(1e300, 1.0))
    assert log_p_value(0.0, 0.5) == 0.0
