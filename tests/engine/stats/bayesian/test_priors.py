import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, special

from engine.stats.bayesian.best_arm import best_of_shares
from engine.stats.bayesian.priors import estimate_shares, pre_period_prior, update_lift
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import fieller
from engine.stats.moments import Moments


def estimate(value: npt.ArrayLike, error: npt.ArrayLike) -> Estimate:
    value, error = np.broadcast_arrays(np.asarray(value, np.float64), np.asarray(error, np.float64))
    return Estimate(value, error**2, np.full(value.shape, 1_000.0))


def test_posterior_is_that_of_adaptive_quadrature() -> None:
    control, variant = estimate(10.0, 0.8), estimate(11.5, 0.9)

    def density(lift: float) -> float:
        spread = 0.81 + (1 + lift) ** 2 * 0.64
        misfit = (11.5 - (1 + lift) * 10.0) ** 2 / spread
        return float(np.exp(-0.5 * misfit - 0.5 * (lift / 0.1) ** 2) / np.sqrt(spread))

    total = integrate.quad(density, -1, 2, epsabs=1e-14)[0]
    posterior = update_lift(control, variant, prior_mean=0.0, prior_deviation=0.1)
    assert posterior.mean == pytest.approx(
        integrate.quad(lambda x: x * density(x), -1, 2)[0] / total, abs=1e-9
    )
    assert posterior.chance == pytest.approx(integrate.quad(density, 0, 2)[0] / total, abs=1e-9)
    assert posterior.loss == pytest.approx(
        integrate.quad(lambda x: -x * density(x), -1, 0)[0] / total, abs=1e-9
    )
    assert integrate.quad(density, -1, float(posterior.low))[0] / total == pytest.approx(0.025, abs=1e-9)
    assert integrate.quad(density, -1, float(posterior.high))[0] / total == pytest.approx(0.975, abs=1e-9)


@pytest.mark.parametrize("hits", [30, 12])
def test_no_conversions_give_the_posterior_of_the_counts_themselves(hits: int) -> None:
    n = 10_000
    control, variant = (Estimate.of(Moments.of_shares([count], [n])) for count in (hits, 0))

    def density(lift: float) -> float:
        # Of rare conversions in equal arms, each is the variant's with probability (1 + l) / (2 + l).
        return float(np.exp(-hits * np.log(2.0 + lift) - 0.5 * (lift / 0.1) ** 2))

    total, mean = (
        integrate.quad(lambda x, power=power: x**power * density(x), -0.9, 2.0)[0] for power in (0, 1)
    )
    found = update_lift(control, variant, prior_mean=0.0, prior_deviation=0.1)
    assert found.mean[0] == pytest.approx(mean / total, abs=0.04)
    assert found.chance[0] < 0.3
    assert found.low[0] < found.mean[0] < found.high[0]


def test_a_posterior_without_any_variance_does_not_exist() -> None:
    everyone = Estimate.of(Moments.of_shares([100], [100]))
    found = update_lift(everyone, everyone, prior_mean=0.0, prior_deviation=0.1)
    assert not found.defined[0]
    assert np.isnan(found.mean[0])


def test_a_flat_prior_gives_nearly_fiellers_interval() -> None:
    control, variant = estimate([10.0, 100.0], 0.5), estimate([11.0, 95.0], 0.7)
    posterior = update_lift(control, variant, prior_mean=0.0, prior_deviation=100.0)
    critical = np.full(2, -special.ndtri(0.025))
    low, high = fieller(control.value, control.variance, variant.value, variant.variance, critical)
    np.testing.assert_allclose(posterior.low, low, atol=4e-3)
    np.testing.assert_allclose(posterior.high, high, atol=4e-3)


def test_sceptical_priors_draw_lucky_lifts_towards_them() -> None:
    lifts = [
        float(
            update_lift(
                estimate(10.0, 0.5), estimate(12.0, 0.5), prior_mean=0.0, prior_deviation=deviation
            ).mean
        )
        for deviation in (0.01, 0.05, 1.0)
    ]
    assert 0 < lifts[0] < lifts[1] < lifts[2] < 0.21


def test_intervals_hold_lifts_that_come_from_the_prior() -> None:
    rng = np.random.default_rng(1)
    lift = rng.normal(0.0, 0.05, 4_000)
    control, variant = rng.normal(10.0, 0.3, lift.size), rng.normal(10.0 * (1 + lift), 0.3)
    posterior = update_lift(
        estimate(control, 0.3), estimate(variant, 0.3), prior_mean=0.0, prior_deviation=0.05, alpha=0.1
    )
    # Three Monte-Carlo errors of 90% in 4,000 are 1.4 points.
    assert ((posterior.low < lift) & (lift < posterior.high)).mean() == pytest.approx(0.9, abs=0.014)


def test_a_control_of_nothing_has_no_lift() -> None:
    posterior = update_lift(
        estimate([0.0, np.nan, 10.0], 1.0),
        estimate([5.0, 5.0, 11.0], 1.0),
        prior_mean=0.0,
        prior_deviation=0.1,
    )
    assert posterior.defined.tolist() == [False, False, True]
    assert np.isnan(posterior.mean).tolist() == [True, True, False]


def test_the_past_counts_as_many_visitors_as_it_is_worth() -> None:
    assert pre_period_prior(500, 10_000, worth=100) == pytest.approx((6.0, 96.0))
    assert pre_period_prior(5, 50, worth=100) == pytest.approx((6.0, 46.0))
    assert pre_period_prior(0, 0) == (1.0, 1.0)
    # With as much of a past, a lucky start is believed less.
    lucky = [1, 4], [50, 50]
    assert (
        best_of_shares(*lucky, prior=pre_period_prior(500, 10_000)).chance[1]
        < best_of_shares(*lucky).chance[1]
    )


def test_an_impossible_past_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and visitors"):
        pre_period_prior(11, 10)


@pytest.mark.parametrize(("hits", "is_pooled"), [(9, True), (10, False)])
def test_a_cell_of_fewer_than_ten_takes_the_pooled_variance(hits: int, is_pooled: bool) -> None:  # noqa: FBT001
    _, variant = estimate_shares(Tables.of([40], [200], [hits], [100]))
    share = (40 + hits) / 300 if is_pooled else hits / 100
    assert variant.variance == pytest.approx(share * (1 - share) / 99)
