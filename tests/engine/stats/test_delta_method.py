import numpy as np
import pytest

from engine.stats.arrays import FloatArray
from engine.stats.cuped import adjust
from engine.stats.delta_method import (
    RatioMoments,
    linearize,
    linearize_together,
    linearize_with_covariate,
)
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import compare_means
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


def shop(shape: tuple[int, ...], seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sessions, orders and earlier orders of visitors: eager ones have more of each."""
    rng = np.random.default_rng(seed)
    eagerness = rng.gamma(2.0, 0.5, shape)
    sessions = np.asarray(1.0 + rng.poisson(3.0 * eagerness), np.float64)
    orders = np.asarray(rng.binomial(sessions.astype(int), np.minimum(0.3 * eagerness, 1.0)), np.float64)
    return sessions, orders, eagerness


def test_variance_is_the_delta_methods_written_out() -> None:
    x, y, _ = shop((500,), 1)
    covariance, ratio = np.cov(x, y), y.sum() / x.sum()
    expected = (
        (covariance[1, 1] - 2 * ratio * covariance[0, 1] + ratio**2 * covariance[0, 0]) / x.mean() ** 2 / 500
    )
    estimate = Estimate.of(linearize(PairedMoments.of(x, y)))
    assert estimate.value == pytest.approx(ratio)
    assert estimate.variance == pytest.approx(expected, rel=1e-12)


def test_standard_error_is_that_of_repeated_samples() -> None:
    x, y, _ = shop((4_000, 300), 2)
    estimate = Estimate.of(linearize(PairedMoments.of(x, y)))
    assert np.sqrt(estimate.variance).mean() == pytest.approx((y.sum(axis=1) / x.sum(axis=1)).std(), rel=0.03)


def test_an_a_a_test_of_a_ratio_stays_at_its_level_where_sessions_as_units_would_not() -> None:
    (x, y, _), (other_x, other_y, _) = shop((4_000, 300), 3), shop((4_000, 300), 4)
    control, variant = linearize(PairedMoments.of(x, y)), linearize(PairedMoments.of(other_x, other_y))
    log_p = compare_means(Estimate.of(control), Estimate.of(variant), 0.05).log_p
    assert (log_p < np.log(0.05)).mean() == pytest.approx(0.05, abs=0.012)
    by_session = [
        Estimate.of(Moments.of_shares(orders.sum(axis=1), sessions.sum(axis=1)))
        for sessions, orders in ((x, y), (other_x, other_y))
    ]
    assert (np.abs(by_session[1].minus(by_session[0]).z) > 1.96).mean() > 0.08


def test_a_ratio_is_adjusted_by_what_visitors_did_before() -> None:
    cells = [shop((5_000,), seed) for seed in (5, 6)]
    x, y, z = (np.stack([cell[part] for cell in cells]) for part in range(3))
    moments = RatioMoments(
        xy=PairedMoments.of(x, y),
        zy=PairedMoments.of(z, y),
        zx=PairedMoments.of(z, x),
        zyx=np.full(2, np.nan),
    )
    ratio = (y.sum(axis=1) / x.sum(axis=1))[:, None]
    share = ratio + (y - ratio * x) / x.mean(axis=1, keepdims=True)
    expected = adjust(PairedMoments.of(z, share))
    adjusted = adjust(linearize_with_covariate(moments))
    np.testing.assert_allclose(adjusted.moments.mean, expected.moments.mean, rtol=1e-12)
    np.testing.assert_allclose(adjusted.moments.m2, expected.moments.m2, rtol=1e-9)
    assert adjusted.reduction > 0.1


def test_the_third_moment_of_residuals_is_that_of_rows() -> None:
    x, y, _ = shop((2, 400), 8)
    for ratio in (0.2, 0.5):
        residuals = (y - ratio * x) / x.mean(axis=1, keepdims=True)
        found, expected = linearize(PairedMoments.of(x, y), np.full(2, ratio)), Moments.of(residuals)
        np.testing.assert_allclose(found.m2, expected.m2, rtol=1e-10)
        np.testing.assert_allclose(found.m3, expected.m3, rtol=1e-10)
    together = linearize_together(PairedMoments.of(x, y))
    residuals = (y - y.sum() / x.sum() * x) / x.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(together.m3, Moments.of(residuals).m3, rtol=1e-10)


def test_a_denominator_of_one_each_is_the_plain_mean() -> None:
    y = np.array([3.0, 5.0, 10.0])
    linear, plain = linearize(PairedMoments.of(np.ones(3), y)), Moments.of(y)
    assert linear.mean == pytest.approx(plain.mean)
    assert linear.m2 == pytest.approx(plain.m2)


def test_nothing_in_the_denominator_is_no_ratio() -> None:
    linear = linearize(PairedMoments.of(np.zeros((1, 4)), np.ones((1, 4))))
    assert not Estimate.of(linear).defined.any()
