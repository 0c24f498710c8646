import numpy as np
import pytest
from scipy.stats import mstats

from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import compare_means
from engine.stats.moments import Moments
from engine.stats.winsorizing import place_of_cap, winsorize


def test_cut_values_are_scipys() -> None:
    values = np.random.default_rng(1).lognormal(3, 1, 1_000)
    result = winsorize([values[:400], values[400:]], 99)
    theirs = np.asarray(mstats.winsorize(values, limits=(0, 0.01)))
    assert result.cap == theirs.max()
    np.testing.assert_allclose(result.moments.mean, [theirs[:400].mean(), theirs[400:].mean()])
    assert result.capped.sum() == 10


def test_cap_is_of_buyers_and_of_all_arms_together() -> None:
    result = winsorize([[0.0] * 98 + [10.0, 20.0], [0.0] * 98 + [30.0, 1_000.0]], 75)
    # Of 10, 20, 30 and 1,000 the smallest with three quarters at or below.
    assert result.cap == 30.0
    assert result.capped.tolist() == [0, 1]
    assert result.removed[1] == pytest.approx(970 / 1_030)


def test_the_hundredth_percentile_cuts_nothing() -> None:
    values = [1.0, 5.0, 1_000.0]
    result = winsorize([values], 100)
    assert result.moments.mean[0] == Moments.of(values).mean
    assert result.removed[0] == 0.0


def test_whales_decide_less_and_the_level_stays() -> None:
    rng = np.random.default_rng(2)
    significant = []
    for _ in range(1_000):
        arms = [np.where(rng.random(2_000) < 0.1, rng.pareto(1.5, 2_000) * 1_000, 0.0) for _ in range(2)]
        moments = winsorize(arms, 95).moments
        control, variant = (
            Estimate.of(Moments(moments.n[k], moments.mean[k], moments.m2[k])) for k in (0, 1)
        )
        significant.append(float(compare_means(control, variant, 0.05).log_p) < np.log(0.05))
    assert np.mean(significant) == pytest.approx(0.05, abs=0.021)


def test_nobody_buying_leaves_everything_as_it_is() -> None:
    result = winsorize([[0.0, 0.0], []], 99)
    assert result.cap is None
    assert result.moments.n.tolist() == [2, 0]
    assert result.removed.tolist() == [0, 0]


@pytest.mark.parametrize("percentile", [0, 100.1, -5])
def test_percentiles_that_are_none_are_refused(percentile: float) -> None:
    with pytest.raises(ValueError, match="percentile is above 0"):
        winsorize([[1.0]], percentile)


def test_the_place_of_a_cap_is_that_of_the_percentile_of_numpy() -> None:
    rng = np.random.default_rng(4)
    for count in (1, 2, 3, 10, 99, 100, 101, 1000):
        values = rng.permutation(count) + 1.0
        for percentile in (0.1, 1, 33.3, 50, 90, 95, 99, 99.9, 100):
            expected = np.percentile(values, percentile, method="inverted_cdf")
            assert np.sort(values)[place_of_cap(count, percentile)] == expected
