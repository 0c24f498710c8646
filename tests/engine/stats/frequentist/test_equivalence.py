import numpy as np
import pytest
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from engine.stats.estimates import Estimate
from engine.stats.frequentist.equivalence import equivalence, relative_z, remaining_lifts
from engine.stats.moments import Moments
from engine.stats.skewness import PooledCumulants

RNG = np.random.default_rng(5)
CONTROL, VARIANT = RNG.normal(10, 2, 400), RNG.normal(10.1, 2, 300)


def test_without_a_ratio_it_is_the_unpooled_z_of_statsmodels() -> None:
    z = relative_z(Estimate.of(Moments.of(CONTROL)), Estimate.of(Moments.of(VARIANT)), ratio=1.0)
    expected, _ = CompareMeans(DescrStatsW(VARIANT), DescrStatsW(CONTROL)).ztest_ind(usevar="unequal")
    assert z == pytest.approx(expected, rel=1e-9)


def test_each_bound_is_the_z_against_a_scaled_control() -> None:
    found = equivalence(Estimate.of(Moments.of(CONTROL)), Estimate.of(Moments.of(VARIANT)), margin=0.05)
    for ratio, sign, z in ((0.95, 1, found.above), (1.05, -1, found.below)):
        expected, _ = CompareMeans(DescrStatsW(VARIANT), DescrStatsW(ratio * CONTROL)).ztest_ind(
            usevar="unequal"
        )
        assert z == pytest.approx(sign * expected, rel=1e-9)


@pytest.mark.parametrize("shift", [0.0, -30.0])
def test_an_added_difference_is_that_of_statsmodels_whatever_the_sign_of_the_means(shift: float) -> None:
    control, variant = CONTROL + shift, VARIANT + shift
    arms = Estimate.of(Moments.of(control)), Estimate.of(Moments.of(variant))
    z = relative_z(*arms, ratio=1.0, added=-0.5)
    expected, _ = CompareMeans(DescrStatsW(variant), DescrStatsW(control)).ztest_ind(
        usevar="unequal", value=-0.5
    )
    assert z == pytest.approx(expected, rel=1e-9)
    assert np.isnan(relative_z(*arms, ratio=0.9)) == (shift < 0)


def test_a_control_of_zero_has_a_margin_and_nothing_at_all_has_none() -> None:
    control = Estimate.of(Moments.of_shares([0, 0], [10_000, 10_000]))
    variant = Estimate.of(Moments.of_shares([100, 0], [10_000, 10_000]))
    z = relative_z(control, variant, ratio=1.0)
    assert z[0] == pytest.approx(10, rel=0.01)
    assert np.isnan(z[1])


def test_skewness_of_unequal_arms_is_removed_at_the_ratio() -> None:
    # Rare conversions, nine in ten visitors in the control, and a true ratio of 0.9.
    rng, runs = np.random.default_rng(8), 40_000
    control = Moments.of_shares(rng.binomial(18_000, 0.01, runs), 18_000)
    variant = Moments.of_shares(rng.binomial(2_000, 0.009, runs), 2_000)
    arms = Estimate.of(control), Estimate.of(variant)
    plain = relative_z(*arms, ratio=0.9)
    freed = relative_z(*arms, ratio=0.9, cumulants=PooledCumulants.of(control, variant))
    tails = [((z > 1.96).mean(), (z < -1.96).mean()) for z in (plain, freed)]
    assert tails[0][1] > 0.035
    assert max(tails[1]) < 0.03


@pytest.mark.parametrize("with_skewness", [False, True])
def test_remaining_lifts_are_those_at_which_the_tests_reach_their_limit(with_skewness: bool) -> None:  # noqa: FBT001
    control = Moments.of(RNG.lognormal(1, 1.5, (1, 4_000)))
    variant = Moments.of(RNG.lognormal(1, 1.5, (1, 500)))
    cumulants = PooledCumulants.of(control, variant) if with_skewness else None
    arms = Estimate.of(control), Estimate.of(variant)
    low, high = remaining_lifts(*arms, critical=1.645, cumulants=cumulants)
    assert low[0] < high[0]
    for bound, expected in ((low, 1.645), (high, -1.645)):
        z = relative_z(*arms, ratio=1 + bound, cumulants=cumulants)
        assert z.item() == pytest.approx(expected, abs=1e-6)


def test_no_lift_is_ruled_out_without_a_control_above_zero() -> None:
    variant = Estimate.of(Moments.of(VARIANT[None]))
    nothing = Estimate.of(Moments.of(CONTROL[None] - 10.0))
    assert np.isnan(remaining_lifts(nothing, variant, critical=1.645)).all()
