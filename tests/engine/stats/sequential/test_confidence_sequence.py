from typing import Any

import numpy as np
import pytest

from engine.stats.arrays import IntArray
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.sequential import confidence_sequence_boundary
from engine.stats.sequential.confidence_sequence import (
    FEWEST_CONVERSIONS,
    ConfidenceSequence,
    confidence_sequence,
    narrowed,
    wins_always_valid,
)
from engine.stats.sequential.group_sequential import crossing_probability

DAYS, SIMULATIONS = 28, 4_000


def sequence_of_shares(control: Any, variant: Any, n: Any, **options: Any) -> ConfidenceSequence:
    """Two arms of equal size n."""
    control, variant, n = np.broadcast_arrays(control, variant, n)
    return confidence_sequence(
        Estimate.of(Moments.of_shares(control, n)),
        Estimate.of(Moments.of_shares(variant, n)),
        fewest_conversions=np.minimum(control, variant),
        **{"alpha": 0.05, **options},
    )


def daily_conversions(rate: float, per_day: int, seed: int) -> IntArray:
    rng = np.random.default_rng(seed)
    return rng.binomial(per_day, rate, (DAYS, SIMULATIONS)).cumsum(axis=0)


def daily_visitors(per_day: int) -> IntArray:
    return per_day * np.arange(1, DAYS + 1)[:, None]


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.5])
@pytest.mark.parametrize("per_day", [100, 5_000])
@pytest.mark.parametrize("planned_share", [0.1, 1.0, 10.0])
def test_28_daily_looks_at_an_a_a_test_stay_below_the_level(
    rate: float, per_day: int, planned_share: float
) -> None:
    sequence = sequence_of_shares(
        daily_conversions(rate, per_day, seed=1),
        daily_conversions(rate, per_day, seed=2),
        daily_visitors(per_day),
        planned=2 * DAYS * per_day * planned_share,
    )
    ever_significant = (sequence.log_p < np.log(0.05)).any(axis=0)
    assert ever_significant.mean() <= 0.05


def test_28_daily_looks_at_heavy_tailed_revenue_stay_below_the_level() -> None:
    rng = np.random.default_rng(3)
    per_day, simulations = 1_000, 300
    arms = []
    for _ in range(2):
        buys = rng.random((DAYS, simulations, per_day)) < 0.05
        cents = np.where(buys, rng.lognormal(8.0, 1.3, buys.shape), 0.0)
        looks = [Moments.of(cents[0])]
        for day in range(1, DAYS):
            looks.append(looks[-1].merge(Moments.of(cents[day])))
        arms.append((looks, buys.sum(axis=-1).cumsum(axis=0)))
    (control, control_buyers), (variant, buyers) = arms
    ever_significant = np.zeros(simulations, np.bool_)
    for day in range(DAYS):
        sequence = confidence_sequence(
            Estimate.of(control[day]),
            Estimate.of(variant[day]),
            fewest_conversions=np.minimum(control_buyers[day], buyers[day]),
            alpha=0.05,
            planned=2 * DAYS * per_day,
        )
        ever_significant |= sequence.log_p < np.log(0.05)
    assert ever_significant.mean() <= 0.05


def test_fixed_horizon_test_would_not_survive_the_same_looks() -> None:
    # Armitage, McPherson and Rowe (1969), table 2: 28 looks at the 5% level err about 29% of the time.
    control, variant = daily_conversions(0.1, 1_000, 1), daily_conversions(0.1, 1_000, 2)
    n = daily_visitors(1_000)
    z = (
        Estimate.of(Moments.of_shares(variant, np.broadcast_to(n, variant.shape)))
        .minus(Estimate.of(Moments.of_shares(control, np.broadcast_to(n, control.shape))))
        .z
    )
    assert (np.abs(z) > 1.96).any(axis=0).mean() == pytest.approx(0.29, abs=0.03)


def test_every_interval_of_a_run_holds_the_truth_together() -> None:
    per_day, n = 1_000, daily_visitors(1_000)
    sequence = sequence_of_shares(
        daily_conversions(0.10, per_day, 4),
        daily_conversions(0.12, per_day, 5),
        n,
        planned=2 * DAYS * per_day,
    )
    assert ((sequence.low > 0.02) | (sequence.high < 0.02)).any(axis=0).mean() <= 0.05
    assert ((sequence.lift_low > 0.2) | (sequence.lift_high < 0.2)).any(axis=0).mean() <= 0.05


def test_power_of_daily_looks_is_what_the_plan_computes() -> None:
    per_day, looks = 1_000, np.arange(1, DAYS + 1) / DAYS
    sequence = sequence_of_shares(
        daily_conversions(0.1000, per_day, 6),
        daily_conversions(0.1075, per_day, 7),
        daily_visitors(per_day),
        planned=2 * DAYS * per_day,
    )
    drift = 0.0075 / np.sqrt((0.1 * 0.9 + 0.1075 * 0.8925) / (DAYS * per_day))
    planned_power = crossing_probability(
        looks, confidence_sequence_boundary.critical_value(looks, 0.05), drift
    )[-1]
    # A single look at the end would have power 0.83: safety is paid for.
    assert planned_power == pytest.approx(0.55, abs=0.01)
    assert wins_always_valid(sequence).any(axis=0).mean() == pytest.approx(planned_power, abs=0.025)


def test_interval_p_and_lift_never_disagree() -> None:
    rng = np.random.default_rng(8)
    n = rng.integers(200, 50_000, 20_000)
    sequence = sequence_of_shares(rng.binomial(n, 0.1), rng.binomial(n, rng.uniform(0.08, 0.12, n.size)), n)
    significant = sequence.log_p < np.log(0.05)
    excludes = (sequence.low > 0) | (sequence.high < 0)
    lift_known = np.isfinite(sequence.lift_low)
    lift_excludes = (sequence.lift_low > 0) | (sequence.lift_high < 0)
    assert 0.1 < significant.mean() < 0.9
    np.testing.assert_array_equal(significant, excludes)
    np.testing.assert_array_equal(significant[lift_known], lift_excludes[lift_known])


def test_silent_until_every_arm_has_enough_conversions() -> None:
    enough = FEWEST_CONVERSIONS
    sequence = sequence_of_shares([enough - 1, enough], [900, 900], [1_000, 1_000])
    assert sequence.defined.tolist() == [False, True]
    assert np.isnan(sequence.low[0])
    assert wins_always_valid(sequence).tolist() == [False, True]


def test_no_visitors_are_silence_and_no_error() -> None:
    sequence = sequence_of_shares([0], [0], [0])
    assert not sequence.defined.any()
    assert not wins_always_valid(sequence).any()


def test_less_is_a_win_where_less_is_wanted() -> None:
    sequence = sequence_of_shares([500, 500, 500], [300, 700, 500], [5_000] * 3)
    assert wins_always_valid(sequence).tolist() == [False, True, False]
    assert wins_always_valid(sequence, wanted=-1).tolist() == [True, False, False]


def test_huge_effects_keep_a_p_above_zero() -> None:
    sequence = sequence_of_shares([100_000], [900_000], [1_000_000], planned=2_000_000)
    assert -1e7 < sequence.log_p[0] < -1e5


def test_what_was_once_ruled_out_stays_ruled_out() -> None:
    sequence = narrowed(
        sequence_of_shares(
            daily_conversions(0.1, 500, 9), daily_conversions(0.11, 500, 10), daily_visitors(500)
        )
    )
    known = sequence.defined[1:] & sequence.defined[:-1]
    assert np.all((np.diff(sequence.low, axis=0) >= 0)[known])
    assert np.all((np.diff(sequence.high, axis=0) <= 0)[known])
    assert np.all((np.diff(sequence.log_p, axis=0) <= 0)[known])
