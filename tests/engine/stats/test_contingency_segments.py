import numpy as np
import pytest
from statsmodels.stats.contingency_tables import Table2x2

from engine.stats.contingency import (
    Tables,
    lift_of_log_odds,
    log_odds_ratios,
    moments_without,
    pairs_without,
    relative_effects,
)
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


def test_log_odds_ratio_is_statsmodels_with_a_half_in_each_cell() -> None:
    estimate = log_odds_ratios(Tables.of([30], [400], [50], [380]))
    theirs = Table2x2(np.array([[50.5, 330.5], [30.5, 370.5]]))
    assert estimate.value[0] == pytest.approx(theirs.log_oddsratio)
    assert np.sqrt(estimate.variance[0]) == pytest.approx(theirs.log_oddsratio_se)


def test_nobody_converting_is_an_answer_and_nobody_coming_is_none() -> None:
    estimate = log_odds_ratios(Tables.of([0, 0], [100, 0], [8, 0], [100, 10]))
    assert estimate.defined.tolist() == [True, False]


def test_revenue_effects_are_in_shares_of_the_overall_mean() -> None:
    control, variant = (
        Estimate.of(Moments.of(np.array([[100.0, 200.0, 300.0]]))),
        Estimate.of(Moments.of(np.array([[150.0, 250.0, 350.0]]))),
    )
    effect = relative_effects(control, variant, base=np.array([200.0]))
    assert effect.value[0] == pytest.approx(0.25)
    # Welch's variance 2 · 10,000 / 3 over 200².
    assert effect.variance[0] == pytest.approx(20_000 / 3 / 40_000)
    assert not relative_effects(control, variant, base=np.zeros(1)).defined.any()


def test_taking_a_part_away_undoes_merging_it() -> None:
    rng = np.random.default_rng(4)
    part, rest = Moments.of(rng.normal(1e7, 3, (5, 40))), Moments.of(rng.normal(1e7 + 2, 1, (5, 60)))
    left = moments_without(part, part.merge(rest))
    np.testing.assert_allclose(left.mean, rest.mean, rtol=1e-12)
    np.testing.assert_allclose(left.m2, rest.m2, rtol=1e-6)
    nobody = moments_without(rest, rest)
    assert nobody.n.sum() == nobody.m2.sum() == 0


def test_taking_pairs_away_undoes_merging_them() -> None:
    rng = np.random.default_rng(5)
    of_parts = [rng.normal(100 + place, 3, (2, 4, 30 + place)) for place in range(2)]
    part, rest = (PairedMoments.of(x, x + y) for x, y in of_parts)
    left = pairs_without(part, part.merge(rest))
    for name in ("n", "mean_x", "mean_y", "m2_x", "m2_y", "co"):
        np.testing.assert_allclose(getattr(left, name), getattr(rest, name), rtol=1e-9)
    for name in ("m3_x", "xxy", "xyy", "m3_y"):
        np.testing.assert_allclose(getattr(left, name), getattr(rest, name), rtol=1e-7, atol=1e-6)
    nobody = pairs_without(rest, rest)
    assert nobody.n.sum() == nobody.co.sum() == 0


def test_a_log_odds_ratio_means_the_lift_that_made_it() -> None:
    # 5% to 6%: log odds ratio log(0.06/0.94 · 0.95/0.05).
    ratio = np.array([np.log(0.06 / 0.94 * 0.95 / 0.05)])
    assert lift_of_log_odds(ratio, np.array([0.05]))[0] == pytest.approx(0.2)
    assert np.isnan(lift_of_log_odds(ratio, np.array([0.0])))[0]
