"""Trials have the truth that they were asked for."""

from typing import Any

import numpy as np
import pytest

from engine.calibration.trials import DAYS, Setting, Trials, draw_trials


def drawn(setting: Setting, *, lift: float = 0.0, runs: int = 400) -> Trials:
    return draw_trials(setting, lift=lift, runs=runs, rng=np.random.default_rng(5))


def test_the_last_arm_converts_more_by_the_lift_and_the_others_do_not() -> None:
    end = drawn(Setting(rate=0.1, visitors=2_800, arms=3), lift=0.5).at_the_end()
    # Five standard errors of a share of 1.12 million visitors.
    assert end.moments.mean[:, 0].mean(axis=0) == pytest.approx([0.1, 0.1, 0.15], abs=0.0017)
    np.testing.assert_array_equal(end.lifts, [0.0, 0.5])


@pytest.mark.parametrize("orders", ["lognormal", "pareto"])
def test_orders_are_1_on_average_and_spread_as_planned(orders: Any) -> None:
    setting = Setting(rate=0.5, visitors=2_800, orders=orders)
    end = drawn(setting, lift=1.0).at_the_end()
    assert end.moments.mean[:, 0].mean(axis=0) == pytest.approx([0.5, 1.0], rel=0.02)
    # E[order²] is e for the lognormal with a deviation of 1 and 1.8 for the Pareto with shape 2.5.
    square = {"lognormal": np.e, "pareto": 1.8}[orders]
    assert end.moments.variance[:, 0, 0].mean() == pytest.approx(0.5 * square - 0.25, rel=0.1)


def test_each_day_holds_all_days_before_it() -> None:
    trials = drawn(Setting(rate=0.2, visitors=2_800, orders="lognormal"), runs=3)
    assert trials.moments.n[0, :, 0].tolist() == [100.0 * day for day in range(1, DAYS + 1)]
    assert (np.diff(trials.converted, axis=1) >= 0).all()
    assert (np.diff(trials.moments.total, axis=1) > -1e-9).all()


def test_the_detectable_lift_is_that_of_the_textbook() -> None:
    # Fleiss, Levin and Paik (2003), 4.2: 5% against 6% needs 8,158 an arm; so does statsmodels 0.15.
    assert Setting(rate=0.05, visitors=8_158).detectable == pytest.approx(0.2, abs=0.001)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"rate": 1.0}, {"visitors": 27}, {"arms": 1}])
def test_an_impossible_setting_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a rate between 0 and 1"):
        Setting(**{"rate": 0.1, "visitors": 100, **wrong})


def test_orders_of_a_shape_that_does_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="orders are 'lognormal' or 'pareto', not 'normal'"):
        Setting(rate=0.1, visitors=280, orders="normal")  # type: ignore[arg-type]
