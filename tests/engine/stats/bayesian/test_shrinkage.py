import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from engine.stats.bayesian.shrinkage import SPREAD_SCALE, shrink, shrink_total
from engine.stats.estimates import Estimate

# Rubin (1981): coaching in eight schools; Gelman et al. (2013), table 5.2.
SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOL_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def estimates(value: npt.ArrayLike, error: npt.ArrayLike) -> Estimate:
    value, error = np.broadcast_arrays(np.asarray(value, np.float64), np.asarray(error, np.float64))
    return Estimate(value, error**2, np.full(value.shape, 100.0))


def test_the_eight_schools_are_shrunk_as_published() -> None:
    # RStan's getting-started page, 4,000 draws with a flat prior on tau: posterior means.
    shrunk = shrink(estimates(SCHOOLS, SCHOOL_ERRORS), spread_scale=1_000.0)
    np.testing.assert_allclose(shrunk.mean, [11.4, 7.9, 6.1, 7.7, 5.1, 6.1, 10.6, 8.5], atol=0.25)
    assert shrunk.centre == pytest.approx(7.9, abs=0.2)
    assert shrunk.spread == pytest.approx(6.6, abs=0.3)
    # Gelman et al. (2013), table 5.3: 95% of school A between -2 and 31, from 200 draws.
    assert shrunk.low[0] == pytest.approx(-2, abs=1)
    assert shrunk.high[0] == pytest.approx(31, abs=1)


def test_posterior_is_that_of_a_brute_force_grid() -> None:
    value, error = np.array([0.3, -0.1, 0.05]), np.array([0.1, 0.05, 0.2])
    tau, mu = np.meshgrid(np.linspace(1e-4, 3.0, 3_000), np.linspace(-2.0, 2.0, 601), indexing="ij")
    spread = np.sqrt(error[:, None, None] ** 2 + tau**2)
    each = np.asarray(stats.norm.logpdf(value[:, None, None], mu, spread))
    log_weight = each.sum(axis=0) - 0.5 * (tau / SPREAD_SCALE) ** 2
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    kept = tau**2 / (error[:, None, None] ** 2 + tau**2)
    mean = kept * value[:, None, None] + (1 - kept) * mu
    deviation = error[:, None, None] * np.sqrt(kept)
    shrunk = shrink(estimates(value, error))
    np.testing.assert_allclose(shrunk.mean, (weight * mean).sum(axis=(1, 2)), atol=2e-4)
    np.testing.assert_allclose(
        shrunk.chance, (weight * stats.norm.cdf(mean / deviation)).sum(axis=(1, 2)), atol=5e-4
    )
    np.testing.assert_allclose(
        (weight * stats.norm.cdf((shrunk.high[:, None, None] - mean) / deviation)).sum(axis=(1, 2)),
        0.975,
        atol=5e-4,
    )


@pytest.mark.long(seconds=3)
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    spread = np.abs(rng.normal(0.0, SPREAD_SCALE, (3_000, 1)))
    truth = rng.normal(0.1, 1.0, (3_000, 8)) * spread
    error = rng.uniform(0.02, 0.5, truth.shape)
    shrunk = shrink(estimates(rng.normal(truth, error), error), alpha=0.1)
    assert ((shrunk.low < truth) & (truth < shrunk.high)).mean() == pytest.approx(0.9, abs=0.01)


def test_shrunk_effects_are_closer_to_the_truth() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(0.0, 0.05, (2_000, 10))
    seen = rng.normal(truth, 0.1)
    shrunk = shrink(estimates(seen, 0.1))
    assert ((shrunk.mean - truth) ** 2).mean() < 0.5 * ((seen - truth) ** 2).mean()


def test_well_known_effects_that_differ_are_left_alone() -> None:
    shrunk = shrink(estimates([-0.5, 0.0, 0.5], 0.001))
    np.testing.assert_allclose(shrunk.mean, [-0.5, 0.0, 0.5], atol=1e-4)


def test_segments_that_say_nothing_are_left_out() -> None:
    gaps = Estimate(
        np.array([0.1, np.nan, 0.2, 0.3]),
        np.array([0.01, np.nan, 0.02, 0.01]),
        np.array([9.0, 0.0, 9.0, 9.0]),
    )
    shrunk = shrink(gaps)
    without = shrink(estimates([0.1, 0.2, 0.3], np.sqrt([0.01, 0.02, 0.01])))
    assert shrunk.defined.tolist() == [True, False, True, True]
    np.testing.assert_allclose(shrunk.mean[shrunk.defined], without.mean, rtol=1e-9)
    assert np.isnan(shrunk.mean[1])


def test_one_effect_has_no_family() -> None:
    shrunk = shrink(estimates([[0.1]], [[0.2]]))
    assert not shrunk.defined.any()
    assert np.isnan(shrunk.mean).all()
    assert np.isnan(shrunk.centre).all()


def test_families_of_any_shape_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(3)
    value, error = rng.normal(0, 1, (3, 4, 5)), rng.uniform(0.1, 1, (3, 4, 5))
    together, alone = shrink(estimates(value, error)), shrink(estimates(value[1, 2], error[1, 2]))
    np.testing.assert_allclose(together.low[1, 2], alone.low, rtol=1e-6)


def test_the_sum_of_all_effects_is_that_of_their_posterior_means() -> None:
    effects = estimates(SCHOOLS, SCHOOL_ERRORS)
    everything = np.ones(8, dtype=np.bool_)
    total, low, high = shrink_total(effects, everything, spread_scale=1_000.0)
    assert total == pytest.approx(float(shrink(effects, spread_scale=1_000.0).mean.sum()))
    assert low < total < high
    assert shrink_total(effects, ~everything)[0] == 0.0


def test_the_shrunk_sum_of_winners_is_not_biased_by_their_choice() -> None:
    rng = np.random.default_rng(20261122)
    naive, shrunk, covered = [], [], []
    for _ in range(300):
        truth, error = rng.normal(0.005, 0.02, 100), rng.uniform(0.01, 0.03, 100)
        observed = rng.normal(truth, error)
        winners = observed > 1.96 * error
        total, low, high = shrink_total(estimates(observed, error), winners)
        naive.append(observed[winners].sum() - truth[winners].sum())
        shrunk.append(total - truth[winners].sum())
        covered.append(low < truth[winners].sum() < high)
    of_mean = float(np.std(shrunk)) / np.sqrt(len(shrunk))
    assert abs(np.mean(shrunk)) < 3 * of_mean
    # The plain sum of the winners is 0.26 too high.
    assert np.mean(naive) > 30 * of_mean
    assert stats.binomtest(sum(covered), len(covered), 0.95).pvalue > 0.01
