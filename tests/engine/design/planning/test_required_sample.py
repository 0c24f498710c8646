from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.design.planning.required_sample import (
    detectable_effect,
    is_reached,
    reachable_visitors,
    required_visitors,
    smallest_pair,
)

DRIFT = stats.norm.isf(0.025) + stats.norm.isf(0.2)


def required(**terms: Any) -> Any:
    rate = terms.pop("rate", 0.05)
    defaults = {
        "mean": rate,
        "variance": rate * (1 - rate),
        "conversion_rate": rate,
        "minimum_effect": 0.1,
        "shares": [0.5, 0.5],
        "drift": DRIFT,
    }
    return required_visitors(**{**defaults, **terms})


def test_required_visitors_of_a_rate_are_those_of_the_textbook() -> None:
    # R: power.prop.test(p1 = .05, p2 = .055, power = .8)$n = 31,234 an arm, at a pooled rate of 5.25%.
    visitors = required(rate=0.0525)
    assert visitors.item() == pytest.approx(2 * 31_234, rel=0.01)


def test_visitors_grow_with_unequal_shares_as_the_variance_of_the_difference_does() -> None:
    even, uneven = required(), required(shares=[0.9, 0.1])
    assert uneven / even == pytest.approx((1 / 0.9 + 1 / 0.1) / 4, rel=1e-4)


def test_the_smallest_variant_with_traffic_is_planned_for() -> None:
    assert smallest_pair([0.5, 0.3, 0.2, 0.0]) == pytest.approx(1 / 0.5 + 1 / 0.2)


def test_large_effects_wait_for_fifty_conversions_a_variant() -> None:
    assert required(rate=0.005, minimum_effect=5.0).item() == 2 * 50 / 0.005


def test_detectable_effect_is_the_inverse_of_required_visitors() -> None:
    effects = np.array([0.01, 0.05, 0.1, 0.3])
    terms = {"mean": 0.05, "variance": 0.0475, "shares": [0.5, 0.25, 0.25], "drift": DRIFT}
    visitors = required(minimum_effect=effects, shares=[0.5, 0.25, 0.25])
    found = detectable_effect(visitors=visitors, **terms)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, effects, rtol=1e-3)


@pytest.mark.parametrize("rate", [0.0, np.nan])
def test_nothing_is_required_where_nothing_can_be_found(rate: float) -> None:
    assert np.isnan(required(rate=rate))
    found = detectable_effect(mean=rate, variance=0.0, visitors=100, shares=[0.5, 0.5], drift=DRIFT)
    assert np.isnan(found)


@pytest.mark.parametrize(
    ("visitors", "days", "given", "expected"),
    [
        (999, 30, False, False),
        (1000, 6.9, False, False),
        (1000, 7, False, True),
        (10, 56, False, True),
        (10, 56, True, False),
        (1000, 7, True, True),
    ],
)
def test_a_plan_is_reached_by_its_sample_after_a_week_or_on_the_last_day(
    visitors: int, days: float, given: object, expected: object
) -> None:
    assert bool(is_reached(visitors, days, 1000, is_given=bool(given))) is expected


def test_the_sequence_is_tuned_to_what_can_be_reached_by_the_last_day() -> None:
    # 100 visitors a day are 5,600 by day 56.
    assert reachable_visitors(1000, 10, 20_000, is_given=False) == 5600
    assert reachable_visitors(1000, 10, 4000, is_given=False) == 4000
    assert reachable_visitors(1000, 10, 20_000, is_given=True) == 20_000
    assert reachable_visitors(1000, 10, np.nan, is_given=False) == 5600
