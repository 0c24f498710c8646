"""Plans of always-valid tests, against the closed form of one look and simulated Brownian motions."""

import numpy as np
import pytest

from engine.design.planning.always_valid_plan import PLAN_DAYS, drift_at_pace, drift_by_day
from engine.design.planning.stopping import Stopping
from engine.stats.sequential.confidence_sequence_boundary import critical_value
from tests.examples import trials

# z of 97.5% plus z of 80%, the drift of a single look.
FIXED = 1.959964 + 0.841621


def test_a_plan_on_the_first_day_that_counts_has_one_look() -> None:
    # (c + z.80)², c being the critical value at the plan: 1.92 times the sample of a fixed horizon.
    expected = critical_value(1.0, 0.05) + 0.841621
    assert drift_by_day(7, 0.05) == pytest.approx(expected, abs=1e-5)
    assert (drift_by_day(7, 0.05) / FIXED) ** 2 == pytest.approx(1.915, abs=1e-3)


@pytest.mark.parametrize("alpha", [0.05, 0.0125])
def test_more_looks_need_fewer_visitors(alpha: float) -> None:
    assert (np.diff(drift_by_day(PLAN_DAYS, alpha)) < 0).all()


@pytest.mark.parametrize("day", [9, 12, 17, 21])
def test_drift_between_the_solved_days_is_within_a_thousandth(day: int) -> None:
    exact = Stopping("always_valid", day, first_look=7).drift(0.8, 0.05)
    assert drift_by_day(day, 0.05) == pytest.approx(exact, rel=1e-3)


@pytest.mark.many(seconds=3)
@pytest.mark.parametrize("day", [7, 14, 28])
def test_power_is_80_percent_by_simulated_looks(day: int) -> None:
    runs = trials(4_000, 40_000)
    drift, days = float(drift_by_day(day, 0.05)), np.arange(1, day + 1)
    steps = np.random.default_rng(7).normal(drift / day, np.sqrt(1.0 / day), (runs, day))
    z = np.cumsum(steps, axis=1) / np.sqrt(days / day)
    found = ((z > critical_value(days / day, 0.05)) & (days >= 7)).any(axis=1).mean()
    assert found == pytest.approx(0.8, abs=3 * np.sqrt(0.16 / runs))


def test_a_plan_is_of_the_day_on_which_the_pace_reaches_it() -> None:
    required = 1_000.0 * drift_by_day(PLAN_DAYS, 0.05) ** 2
    # 14 days of this pace are what 14 days need; of ten times the pace the first day that counts.
    pace = required[PLAN_DAYS == 14][0] / 14
    assert drift_at_pace(required, pace, 0.05) == drift_by_day(14, 0.05)
    assert drift_at_pace(required, 10 * pace, 0.05) == drift_by_day(7, 0.05)
    assert drift_at_pace(required, pace / 100, 0.05) == drift_by_day(56, 0.05)


@pytest.mark.parametrize("pace", [0.0, np.nan])
def test_a_plan_without_a_pace_is_of_28_days(pace: float) -> None:
    assert drift_at_pace(np.full(PLAN_DAYS.shape, 100.0), pace, 0.05) == drift_by_day(28, 0.05)
    assert drift_at_pace(np.full(PLAN_DAYS.shape, np.nan), 10.0, 0.05) == drift_by_day(28, 0.05)
