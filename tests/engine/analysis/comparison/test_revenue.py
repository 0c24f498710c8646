import numpy as np
import pytest
from scipy import stats

from engine.analysis.analyze import analyze
from engine.analysis.comparison.revenue import split_revenue
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

REVENUE = (a_goal(goal_type="revenue", config={}),)


def a_shop(seed: int = 1) -> tuple[list[np.ndarray], Moments]:
    rng = np.random.default_rng(seed)
    arms = [
        np.where(rng.random(n) < rate, rng.gamma(2, size, n), 0.0)
        for n, rate, size in ((5000, 0.10, 1000), (5200, 0.12, 950))
    ]
    return arms, Moments.stack([Moments.of(arm) for arm in arms])[None]


def test_parts_multiply_to_the_lift_and_their_chances_are_those_of_each_part() -> None:
    arms, cents = a_shop()
    hits = [int((arm > 0).sum()) for arm in arms]
    evidence = observed([5000, 5200], [hits], cents=cents)
    parts = split_revenue(evidence, 0, np.array([True]))
    lift = arms[1].mean() / arms[0].mean() - 1
    assert (1 + parts.converted[0, 1]) * (1 + parts.spent[0, 1]) - 1 == pytest.approx(lift, rel=1e-12)
    paid = [arm[arm > 0] for arm in arms]
    gap = paid[1].mean() - paid[0].mean()
    error = np.sqrt(sum(one.var(ddof=1) / len(one) for one in paid))
    assert parts.chance_spent[0, 1] == pytest.approx(stats.norm.cdf(gap / error), rel=1e-9)
    rng = np.random.default_rng(2)
    draws = [rng.beta(1 + hit, 1 + n - hit, 400_000) for hit, n in zip(hits, (5000, 5200), strict=True)]
    assert parts.chance_converted[0, 1] == pytest.approx((draws[1] > draws[0]).mean(), abs=0.003)
    assert np.isnan(parts.converted[0, 0])


def test_report_explains_revenue_and_nothing_else() -> None:
    arms, cents = a_shop()
    evidence = observed([5000, 5200], [[int((arm > 0).sum()) for arm in arms]], cents=cents)
    variant = analyze(an_experiment(goals=REVENUE), evidence, now=NOW).goals[0].variants[1]
    assert variant.details.conversion_part is not None
    assert variant.details.spending_part is not None
    assert variant.details.conversion_part.improvement == pytest.approx(
        variant.conversion_rate / (500 / 5000) - 1, abs=0.2
    )
    plain = analyze(an_experiment(), evidence, now=NOW).goals[0].variants[1]
    assert (plain.details.conversion_part, plain.details.spending_part) == (None, None)


@pytest.mark.parametrize("hits", [[0, 0], [1, 1], [0, 5]])
def test_with_hardly_anybody_paying_there_is_no_number_and_no_failure(hits: list[int]) -> None:
    n = np.array([[50.0, 50.0]])
    total = np.array([hits], np.float64) * 100
    evidence = observed([50, 50], [hits], cents=Moments(n, total / n, np.array([hits]) * 1e4 - total**2 / n))
    report = analyze(an_experiment(goals=REVENUE), evidence, now=NOW)
    part = report.goals[0].variants[1].details.spending_part
    assert part is None or part.chance_to_beat is None
