import numpy as np
import pytest

from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.sequential.repeated_intervals import Look, look_at, taken

DAYS = 28


def looks_at(control_rate: float, rate: float, per_day: int, *, seed: int, simulations: int) -> list[Look]:
    """Every day's look at many simulated experiments."""
    rng = np.random.default_rng(seed)
    control = rng.binomial(per_day, control_rate, (DAYS, simulations)).cumsum(axis=0)
    variant = rng.binomial(per_day, rate, (DAYS, simulations)).cumsum(axis=0)
    days = np.arange(1, DAYS + 1)
    return [
        look_at(
            Estimate.of(Moments.of_shares(control[day], (day + 1) * per_day)),
            Estimate.of(Moments.of_shares(variant[day], (day + 1) * per_day)),
            looks=taken(days[: day + 1] * per_day, DAYS * per_day),
            alpha=0.05,
        )
        for day in range(DAYS)
    ]


def test_28_daily_looks_at_an_a_a_test_stay_at_the_level() -> None:
    decided = np.any([look.decided for look in looks_at(0.1, 0.1, 2_000, seed=1, simulations=4_000)], axis=0)
    # Monte-Carlo error of 4,000 simulations: 0.0034.
    assert decided.mean() == pytest.approx(0.05, abs=0.01)


def test_power_is_nearly_that_of_a_single_look() -> None:
    looks = looks_at(0.1, 0.1075, 1_000, seed=2, simulations=2_000)
    single = (np.abs(looks[-1].z) > 1.96).mean()
    assert single - 0.04 < np.any([look.decided for look in looks], axis=0).mean() <= single


def test_intervals_and_decisions_never_disagree() -> None:
    looks = looks_at(0.1, 0.108, 500, seed=3, simulations=500)
    assert len(looks) == DAYS
    for look in looks:
        np.testing.assert_array_equal(look.decided, (look.low > 0) | (look.high < 0))
        np.testing.assert_array_equal(look.decided, (look.lift_low > 0) | (look.lift_high < 0))


def test_early_looks_ask_for_much_and_the_last_for_little_more_than_usual() -> None:
    looks = looks_at(0.1, 0.1, 100, seed=4, simulations=100)
    assert looks[0].critical > 10
    assert 1.96 < looks[-1].critical < 2.2


def test_nothing_to_compare_decides_nothing() -> None:
    nobody = Estimate.of(Moments.of_shares([0.0], [0.0]))
    look = look_at(nobody, nobody, looks=[1.0], alpha=0.05)
    assert not look.decided.any()
    assert not look.defined.any()


def test_overrun_and_idle_looks_are_taken_as_the_boundaries_need_them() -> None:
    np.testing.assert_allclose(taken([0, 50, 50, 100, 210, 300], 200), [0.25, 0.5, 1.0])
    assert taken([0], 200).size == 0
