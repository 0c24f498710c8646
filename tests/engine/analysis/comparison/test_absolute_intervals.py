"""Intervals of rates and of absolute differences, against the tests that they belong to."""

from typing import Any

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.results.variant_result import Interval, VariantResult
from engine.design.analysis_settings import Statistics
from engine.stats.frequentist.wilson import share_interval
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

REVENUE = a_goal(goal_type="revenue", config={})


def results(conversions: list[int], n: int = 10_000, **experiment: Any) -> tuple[VariantResult, ...]:
    weights = (1,) * len(conversions)
    counted = observed([n] * len(conversions), conversions)
    return analyze(an_experiment(weights=weights, **experiment), counted, now=NOW).goals[0].variants


def known(interval: Interval | None) -> tuple[float, float, float]:
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high, interval.level


def money(mean: float) -> Moments:
    rng = np.random.default_rng(6)
    arms = np.stack([rng.exponential(100.0, 400), rng.exponential(mean, 400)])
    return Moments.of(arms[None])


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_every_variant_has_the_interval_of_its_own_rate(method: str) -> None:
    for variant, hits in zip(
        results([0, 1079, 900], confidence_level=90, analysis_method=method), (0, 1079, 900), strict=True
    ):
        low, high = (float(bound) for bound in share_interval(hits, 10_000, 0.1))
        assert known(variant.rate_interval) == pytest.approx((low, high, 0.9))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"confidence_level": 80},
        {"statistics": Statistics(correction="holm")},
        {"statistics": Statistics(correction="dunnett")},
        {"statistics": Statistics(sequential="always_valid")},
        {"statistics": Statistics(alternative="one_sided")},
        {"analysis_method": "bayesian"},
        {"analysis_method": "bayesian", "statistics": Statistics(prior="lift")},
    ],
)
def test_the_difference_leaves_out_0_where_the_improvement_does(settings: dict[str, Any]) -> None:
    seen = set()
    for hits in range(820, 1200, 20):
        control, variant, _ = results([1000, hits, 1010], **settings)
        low, high, level = known(variant.compared.absolute_difference_interval)
        of_change = known(variant.improvement_interval)
        assert level == of_change[2]
        assert (low > 0, high < 0) == (of_change[0] > 0, of_change[1] < 0)
        assert variant.compared.absolute_difference is not None
        assert low < variant.compared.absolute_difference < high
        assert control.compared.absolute_difference_interval is None
        seen.add((low > 0, high < 0))
    assert len(seen) == 3


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_revenue_has_intervals_in_cents(method: str) -> None:
    counted = observed([400, 400], [400, 400], cents=money(130.0))
    experiment = an_experiment(goals=(REVENUE,), analysis_method=method)
    control, variant = analyze(experiment, counted, now=NOW).goals[0].variants
    for arm in (control, variant):
        low, high, level = known(arm.rate_interval)
        assert arm.revenue.value is not None
        assert low < arm.revenue.value < high
        assert level == pytest.approx(0.95)
    low, high, level = known(variant.compared.absolute_difference_interval)
    assert variant.compared.absolute_difference is not None
    assert low < variant.compared.absolute_difference < high
    of_change = known(variant.improvement_interval)
    assert (low > 0, level) == (of_change[0] > 0, of_change[2])


def test_money_that_does_not_vary_and_arms_without_visitors_have_none() -> None:
    counted = observed([400, 400], [0, 0])
    for variant in analyze(an_experiment(goals=(REVENUE,)), counted, now=NOW).goals[0].variants:
        assert (variant.rate_interval, variant.compared.absolute_difference_interval) == (None, None)
    empty = analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW).goals[0].variants[1]
    assert (empty.rate_interval, empty.compared.absolute_difference_interval) == (None, None)


def test_a_variant_without_conversions_still_has_an_absolute_interval() -> None:
    variant = results([0, 40])[1]
    assert variant.improvement_interval is None
    assert known(variant.compared.absolute_difference_interval)[0] > 0
