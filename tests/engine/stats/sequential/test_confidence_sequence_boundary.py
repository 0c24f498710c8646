import mpmath
import numpy as np
import pytest

from engine.stats.sequential import confidence_sequence_boundary


def test_tuning_is_lamberts_w_as_the_paper_has_it() -> None:
    # Waudby-Smith et al. (2024), appendix B.2, computed by mpmath to 30 digits.
    for alpha in (0.1, 0.05, 0.01, 1e-6):
        expected = -mpmath.lambertw(-(mpmath.mpf(alpha) ** 2) / mpmath.e, -1).real - 1
        assert confidence_sequence_boundary.tuning(alpha) == pytest.approx(float(expected), rel=1e-12)


def test_tuned_interval_is_tightest_at_the_planned_sample() -> None:
    tuned = confidence_sequence_boundary.tuning(0.05)
    x = np.linspace(0.2, 5.0, 4001) * tuned
    width = np.sqrt((1 + 1 / x) * np.log((x + 1) / 0.05**2))
    assert x[width.argmin()] == pytest.approx(tuned, rel=1e-3)
    assert confidence_sequence_boundary.critical_value(1.0, 0.05) == pytest.approx(width.min(), rel=1e-6)


def test_critical_value_is_the_formula_of_the_paper() -> None:
    # Theorem 2.2: sigma sqrt(2 (t rho² + 1) / (t² rho²) log(sqrt(t rho² + 1) / alpha)), by mpmath.
    planned, t, alpha = 10_000, 3_000, mpmath.mpf("0.05")
    rho2 = mpmath.mpf(float(confidence_sequence_boundary.tuning(0.05))) / planned
    radius = mpmath.sqrt(2 * (t * rho2 + 1) / (t**2 * rho2) * mpmath.log(mpmath.sqrt(t * rho2 + 1) / alpha))
    assert confidence_sequence_boundary.critical_value(t / planned, 0.05) == pytest.approx(
        float(radius * mpmath.sqrt(t)), rel=1e-12
    )


def test_p_reaches_the_level_exactly_at_the_critical_value() -> None:
    fractions = np.array([0.01, 0.1, 0.5, 1.0, 3.0, 100.0])
    for alpha in (0.1, 0.05, 0.001):
        critical = confidence_sequence_boundary.critical_value(fractions, alpha)
        np.testing.assert_allclose(
            confidence_sequence_boundary.log_p_value(critical, fractions, alpha), np.log(alpha), rtol=1e-12
        )


def test_p_never_underflows_and_never_passes_one() -> None:
    assert confidence_sequence_boundary.log_p_value(300.0, 1.0, 0.05) == pytest.approx(-4e4, rel=0.02)
    assert confidence_sequence_boundary.log_p_value(0.0, 5.0, 0.05) == 0.0


def test_looking_continuously_costs_more_than_looking_once() -> None:
    assert np.all(confidence_sequence_boundary.critical_value(np.geomspace(0.001, 1000, 50), 0.05) > 1.96)


def test_nothing_seen_is_nothing_said() -> None:
    assert confidence_sequence_boundary.critical_value(0.0, 0.05) == np.inf
    assert confidence_sequence_boundary.log_p_value(5.0, 0.0, 0.05) == 0.0


def test_a_statistic_whose_square_overflows_is_still_finite() -> None:
    assert np.isfinite(confidence_sequence_boundary.log_p_value(np.array([1e200, -1e300]), 1e-4, 0.05)).all()
