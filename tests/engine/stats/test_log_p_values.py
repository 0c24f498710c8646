"""Log p values against SciPy where p can be written down, and mpmath where it can't."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from engine.stats.log_p_values import log_p_normal, log_p_one_sided, log_p_student


def one(value: float) -> np.ndarray:
    return np.array([value])


@pytest.mark.parametrize("z", [0.0, 0.5, -1.96, 3.0, 8.0, 22.4860408271928, 37.0])
def test_normal_p_is_scipys(z: float) -> None:
    assert log_p_normal(one(z))[0] == pytest.approx(
        np.log(2) + stats.norm.logsf(abs(z)), rel=1e-12, abs=1e-15
    )


@pytest.mark.parametrize("z", [0.5, 1.64, 38.0, -0.5, -1.64, -38.0])
def test_one_sided_p_is_scipys(z: float) -> None:
    assert log_p_one_sided(log_p_normal(one(z)), one(z))[0] == pytest.approx(
        stats.norm.logsf(z), rel=1e-12, abs=1e-15
    )


def test_without_a_gain_there_is_no_one_sided_p() -> None:
    assert np.isnan(log_p_one_sided(one(-1.0), one(np.nan))[0])
    assert np.isnan(log_p_one_sided(one(np.nan), one(1.0))[0])


def test_a_z_of_22_has_a_p_of_its_own() -> None:
    # The men's e-mail of the Hillstrom data on visits; p to fifty digits by mpmath.
    with mpmath.workdps(50):
        p = mpmath.erfc(mpmath.mpf("22.4860408271928") / mpmath.sqrt(2))
    assert np.exp(log_p_normal(one(22.4860408271928)))[0] == pytest.approx(float(p), rel=1e-9)
    assert float(p) == pytest.approx(5.685e-112, rel=1e-3)


@pytest.mark.parametrize("z", [1e3, 1e6, 1e100])
def test_log_p_stays_finite_where_p_underflows(z: float) -> None:
    assert np.isfinite(log_p_normal(one(z)))[0]


def test_log_p_of_1000_is_mpmaths() -> None:
    with mpmath.workdps(30):
        log_p = mpmath.log(mpmath.erfc(1000 / mpmath.sqrt(2)))
    assert log_p_normal(one(1000.0))[0] == pytest.approx(float(log_p), rel=1e-12)


@pytest.mark.parametrize(
    ("t", "df"), [(0.0, 5.0), (1.0, 1.0), (2.5, 3.5), (5.30014035841167, 36671.157977), (-4.0, 1e7)]
)
def test_student_p_is_scipys(t: float, df: float) -> None:
    assert np.exp(log_p_student(one(t), one(df)))[0] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-10)


@pytest.mark.parametrize(("t", "df"), [(60.0, 1000.0), (1000.0, 200.0), (45.0, 5000.0), (1e200, 3.0)])
def test_log_p_of_a_far_t_is_mpmaths(t: float, df: float) -> None:
    # Beyond float range: the regularised incomplete beta function to thirty digits.
    with mpmath.workdps(30):
        x = df / (df + mpmath.mpf(t) ** 2)
        log_p = float(mpmath.log(mpmath.betainc(df / 2, 0.5, 0, x, regularized=True)))
    assert log_p_student(one(t), one(df))[0] == pytest.approx(log_p, rel=1e-10)


def test_both_ways_to_a_student_tail_meet() -> None:
    # p is about 1e-250 here, where the quadrature takes over.
    df = np.full(50, 400.0)
    t = np.linspace(57.0, 59.0, 50)
    steps = np.diff(log_p_student(t, df))
    assert (steps < 0).all()
    assert np.abs(np.diff(steps)).max() < 1e-3
