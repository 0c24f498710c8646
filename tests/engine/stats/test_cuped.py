import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import stats

from engine.stats.arrays import FloatArray
from engine.stats.cuped import adjust, adjust_ratios, log_p_before
from engine.stats.delta_method import RatioMoments, linearize_with_covariate
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import compare_means
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments, triple_moment
from engine.stats.skewness import PooledCumulants
from tests.public_data import EmailChallenge


def arms(*pairs: tuple[FloatArray, FloatArray]) -> PairedMoments:
    """One cell per arm of (x, y)."""
    return PairedMoments.stack([PairedMoments.of(x, y) for x, y in pairs])


def arm(moments: Moments, index: int) -> Estimate:
    """The estimate of one arm, where arms run along the last axis."""
    return Estimate.of(moments[..., [index]])


def correlated(n: int, correlation: float, effect: float, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return x, correlation * x + np.sqrt(1 - correlation**2) * rng.standard_normal(n) + effect


def test_a_correlation_of_seven_tenths_halves_the_variance() -> None:
    adjusted = adjust(
        arms(correlated(50_000, np.sqrt(0.5), 0.0, 1), correlated(50_000, np.sqrt(0.5), 0.1, 2))
    )
    assert adjusted.reduction == pytest.approx(0.5, abs=0.01)
    np.testing.assert_allclose(adjusted.moments.variance, 0.5, rtol=0.02)


def test_estimate_and_error_are_those_of_an_analysis_of_covariance() -> None:
    pairs = [correlated(300 + 50 * k, 0.6, 0.2 * k, 10 + k) for k in range(3)]
    x, y = np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])
    arm_of = np.repeat([0, 1, 2], [300, 350, 400])
    dummies = np.column_stack([arm_of == 0, arm_of == 1, arm_of == 2]).astype(float)
    fit = sm.OLS(y, np.column_stack([dummies, x])).fit()
    adjusted = adjust(arms(*pairs))
    assert adjusted.theta == pytest.approx(fit.params[3], rel=1e-10)
    np.testing.assert_allclose(np.diff(adjusted.moments.mean), np.diff(fit.params[:3]), rtol=1e-10)
    # Its residual variance, with the same degrees of freedom.
    pooled = adjusted.moments.m2.sum() / (adjusted.moments.n - 1).sum()
    assert pooled == pytest.approx(fit.mse_resid, rel=1e-10)


def test_the_third_moment_is_that_of_the_adjusted_values() -> None:
    rng = np.random.default_rng(4)
    x = rng.exponential(1.0, (2, 300))
    y = x + rng.exponential(0.5, x.shape)
    found = adjust(PairedMoments.of(x, y))
    np.testing.assert_allclose(found.moments.m3, Moments.of(y - found.theta * x).m3, rtol=1e-10)
    new = rng.exponential(2.0, (2, 50))
    merged = adjust(PairedMoments.of(x, y), without=Moments.of(new)).moments
    whole = np.concatenate([y - found.theta * (x - x.mean()), new], axis=1)
    np.testing.assert_allclose(merged.m3, Moments.of(whole).m3, rtol=0.02)


def test_adjusted_money_in_a_small_arm_is_no_loser_too_often() -> None:
    rng = np.random.default_rng(5)

    def drawn(visitors: int) -> PairedMoments:
        spend = rng.lognormal(0, 0.8, (2_000, visitors))
        past, now = (
            (rng.random(spend.shape) < 0.2) * spend * rng.lognormal(0, 0.5, spend.shape) for _ in "ab"
        )
        return PairedMoments.of(past, now)

    found = adjust(PairedMoments.stack([drawn(900), drawn(100)], axis=-1)).moments
    control, variant = (Estimate.of(found[:, arm]) for arm in (0, 1))
    for skewness, most in ((PooledCumulants.of(found[:, 0], found[:, 1]).skewness(), 0.035), (0.0, 1.0)):
        test = compare_means(control, variant, 0.05, skewness)
        worse = ((test.log_p <= np.log(0.05)) & (test.statistic < 0)).mean()
        # Two Monte Carlo errors.
        assert worse <= most + 0.008
        assert most < 1 or worse > 0.05


def test_a_ratio_is_tested_by_what_is_left_of_residuals() -> None:
    rng = np.random.default_rng(6)
    z = rng.gamma(2.0, 1.0, (2, 400))
    x = 1.0 + rng.poisson(3 * z)
    y = rng.binomial(x.astype(int), 0.3) + z
    triple = np.array([triple_moment(*each) for each in zip(z, y, x, strict=True)])
    moments = RatioMoments(PairedMoments.of(x, y), PairedMoments.of(z, y), PairedMoments.of(z, x), triple)
    adjusted = adjust(linearize_with_covariate(moments))
    pairs = adjust_ratios(moments, adjusted.moments.mean, adjusted.theta)
    slope = adjusted.theta * x.mean(axis=1, keepdims=True)
    expected = PairedMoments.of(x, y - slope * z)
    np.testing.assert_allclose(pairs.mean_y / pairs.mean_x, adjusted.moments.mean, rtol=1e-12)
    for name in ("m3_x", "xxy", "xyy", "m3_y"):
        np.testing.assert_allclose(getattr(pairs, name), getattr(expected, name), rtol=1e-9)
    for name in ("m2_x", "m2_y", "co"):
        # 800 - 2 degrees of freedom, less one of the slope.
        wanted = getattr(expected, name) * 798 / 797
        np.testing.assert_allclose(getattr(pairs, name), wanted, rtol=1e-9)


def test_an_a_a_test_is_significant_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    x = rng.exponential(1.0, (4_000, 2, 200))
    y = x + rng.exponential(0.5, x.shape)
    moments = adjust(PairedMoments.of(x, y)).moments
    comparison = compare_means(arm(moments, 0), arm(moments, 1), 0.05)
    assert (comparison.log_p < np.log(0.05)).mean() == pytest.approx(0.05, abs=0.01)


def test_visitors_without_a_past_still_count() -> None:
    rng = np.random.default_rng(4)
    pairs = [correlated(2_000, 0.8, effect, 20 + k) for k, effect in enumerate((0.0, 0.3))]
    newcomers = np.stack([rng.standard_normal(1_000), rng.standard_normal(1_000) + 0.3])
    adjusted = adjust(arms(*pairs), without=Moments.of(newcomers))
    assert adjusted.moments.n.tolist() == [3_000, 3_000]
    assert np.diff(adjusted.moments.mean)[0] == pytest.approx(0.3, abs=0.06)
    # Two thirds of the visitors lose 64% of their variance.
    assert adjusted.reduction == pytest.approx(0.64 * 2 / 3, abs=0.03)


def test_a_covariate_that_never_varies_changes_nothing() -> None:
    y = np.arange(10.0)
    adjusted = adjust(arms((np.zeros(10), y), (np.zeros(10), y + 1)))
    assert adjusted.theta == 0.0
    assert adjusted.reduction == 0.0
    np.testing.assert_allclose(adjusted.moments.mean, [4.5, 5.5])


def test_arms_without_visitors_are_no_error() -> None:
    empty = np.zeros(0)
    adjusted = adjust(arms((empty, empty), (np.array([1.0, 2.0]), np.array([3.0, 4.0]))))
    assert adjusted.moments.n.tolist() == [0, 2]
    assert np.isfinite(adjusted.moments.mean).all()


def test_many_goals_are_adjusted_at_once() -> None:
    x, y = np.random.default_rng(5).standard_normal((2, 7, 3, 100))
    together = adjust(PairedMoments.of(x, y))
    alone = adjust(PairedMoments.of(x[4], y[4]))
    np.testing.assert_allclose(together.moments.mean[4], alone.moments.mean)
    np.testing.assert_allclose(together.theta[4], alone.theta)


def test_arms_that_differed_before_are_noticed() -> None:
    same, other = correlated(5_000, 0.5, 0.0, 6), correlated(5_000, 0.5, 0.0, 7)
    log_p = log_p_before(arms(same, other, (same[0] + 0.3, same[1])))
    assert np.isnan(log_p[0])
    assert log_p[1] > np.log(0.001) > log_p[2]


def test_an_alarm_about_a_small_arm_is_as_rare_as_it_says() -> None:
    # One in ten sees the variant, and one in 500 did anything before.
    rng, repeats = np.random.default_rng(8), 20_000
    n = np.array([20_000.0, 2_000.0])
    past = Moments.of_shares(rng.binomial(n.astype(int), 0.002, (repeats, 2)), n)
    none = np.zeros((repeats, 2))
    log_p = log_p_before(PairedMoments(past.n, past.mean, none, past.m2, none, none))
    alarms = (np.nan_to_num(log_p[:, 1]) < np.log(0.001)).mean()
    # Four Monte-Carlo standard errors of 0.0002; exact tests of so few stay below their level.
    assert alarms <= 0.001 + 0.0009


@pytest.mark.long(seconds=4)
def test_amounts_of_a_small_arm_that_bought_next_to_nothing_are_no_alarm() -> None:
    rng, repeats, alarms = np.random.default_rng(9), 2_000, 0
    for _ in range(repeats):
        past = [np.zeros(9_000), np.zeros(1_000)]
        for arm in past:
            buyers = rng.binomial(arm.size, 0.004)
            arm[:buyers] = rng.lognormal(3.0, 0.5, buyers)
        found = log_p_before(arms(*((arm, arm) for arm in past)))
        alarms += bool(found[1] < np.log(0.001))
    # With variances of their own it were over one in twenty.
    assert alarms / repeats < 0.008


def test_ones_and_zeros_before_are_compared_exactly_where_they_are_few() -> None:
    past = [np.r_[np.ones(hits), np.zeros(200 - hits)] for hits in (9, 1)]
    found = log_p_before(arms(*((arm, arm) for arm in past)))
    table = stats.hypergeom(400, 10, 200)
    mid_p = table.cdf(1) - 0.5 * table.pmf(1)
    assert found[1] == pytest.approx(np.log(2 * mid_p), rel=1e-9)


def test_spending_history_leaves_the_email_verdict_as_ordinary_least_squares_has_it(
    email_challenge: EmailChallenge,
) -> None:
    frame = pl.read_csv(email_challenge.path)
    groups = ["No E-Mail", "Mens E-Mail"]
    pairs = []
    for group in groups:
        rows = frame.filter(pl.col("segment") == group)
        pairs.append((rows["history"].to_numpy().astype(float), rows["spend"].to_numpy().astype(float)))
    adjusted = adjust(arms(*pairs))
    design = np.column_stack(
        [
            np.ones(sum(len(x) for x, _ in pairs)),
            np.repeat([0.0, 1.0], [len(x) for x, _ in pairs]),
            np.concatenate([x for x, _ in pairs]),
        ]
    )
    fit = sm.OLS(np.concatenate([y for _, y in pairs]), design).fit(cov_type="HC1")
    assert np.diff(adjusted.moments.mean)[0] == pytest.approx(fit.params[1], rel=1e-9)
    comparison = compare_means(arm(adjusted.moments, 0), arm(adjusted.moments, 1), 0.05)
    assert comparison.statistic[0] == pytest.approx(fit.tvalues[1], rel=2e-3)
    # Two days of spending have little to do with last year's: honest and small.
    assert 0.0 < adjusted.reduction < 0.01
