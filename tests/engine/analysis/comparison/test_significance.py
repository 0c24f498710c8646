"""Who wins: statuses, thresholds, directions, and which variant leads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportions_ztest

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.enough_data import (
    MIN_CONVERSIONS,
    MIN_PAYING_VISITORS,
    MIN_VISITORS,
    conversions_needed,
)
from engine.analysis.comparison.significance import Significance, assess_significance
from engine.design.analysis_settings import Statistics
from engine.stats.moments import Moments
from engine.vocabulary import SequentialMethod
from tests.builders import a_goal, an_experiment
from tests.examples import trials
from tests.observations import observed

METHODS = pytest.mark.parametrize("method", ["frequentist", "bayesian"])


def judged(visitors: list[int], conversions: list[int], **experiment: object) -> Significance:
    weights = (1,) * len(visitors)
    return assess_significance(
        prepare(an_experiment(weights=weights, **experiment), observed(visitors, conversions))
    )


def statuses(judgement: Significance) -> list[str]:
    return [str(status) for status in judgement.status[0]]


@METHODS
@pytest.mark.parametrize(
    ("conversions", "status"), [(1250, "winner"), (1010, "inconclusive"), (800, "loser")]
)
def test_a_variant_wins_loses_or_neither(method: str, conversions: int, status: str) -> None:
    found = judged([10_000, 10_000], [1000, conversions], analysis_method=method)
    assert statuses(found) == ["control", status]


@METHODS
def test_where_less_is_better_the_lower_rate_wins(method: str) -> None:
    goal = a_goal(config={"event_name": "return", "direction": "decrease"})
    found = judged([10_000, 10_000, 10_000], [1000, 800, 1250], analysis_method=method, goals=(goal,))
    assert statuses(found) == ["control", "winner", "loser"]
    # The sign of a change is that of the metric, whatever is wanted.
    assert found.effects.improvement[0, 1] == pytest.approx(-0.2)
    assert found.effects.chance[0, 1] > 0.99
    assert found.effects.loss[0, 1] < found.effects.loss[0, 2]


@METHODS
def test_lowering_a_rate_costs_what_raising_its_complement_does(method: str) -> None:
    # Unequal arms, so that flat priors move the expected difference away from the observed one.
    goal = a_goal(config={"event_name": "return", "direction": "decrease"})
    less = judged([400, 4000], [30, 250], analysis_method=method, goals=(goal,))
    more = judged([400, 4000], [370, 3750], analysis_method=method)
    assert less.effects.chance[0, 1] == pytest.approx(more.effects.chance[0, 1], rel=1e-9)
    assert less.effects.loss[0, 1] == pytest.approx(more.effects.loss[0, 1], rel=1e-9)


@METHODS
def test_every_variant_that_beats_the_control_wins_and_the_best_of_them_leads(method: str) -> None:
    found = judged([20_000] * 4, [2000, 2400, 2600, 1400], analysis_method=method)
    assert statuses(found) == ["control", "winner", "winner", "loser"]
    assert found.leader[0] == 2


@given(st.lists(st.integers(0, 3000), min_size=2, max_size=6), st.sampled_from(["frequentist", "bayesian"]))
def test_status_is_what_score_and_threshold_say(conversions: list[int], method: str) -> None:
    found = judged([3000] * len(conversions), conversions, analysis_method=method)
    reached = (found.score >= 1 - 0.05 / max(len(conversions) - 1, 1)) & (found.gain > 0)
    enough = found.status != "insufficient_data"
    assert ((found.status == "winner") == (reached & enough)).all()


def test_the_threshold_of_several_variants_is_the_stricter() -> None:
    # p is 0.0394: enough for one comparison at 95%, too much for two.
    assert statuses(judged([10_000, 10_000], [1000, 1089]))[1] == "winner"
    assert statuses(judged([10_000, 10_000, 10_000], [1000, 1089, 1000]))[1] == "inconclusive"


def test_judgement_is_on_unrounded_values() -> None:
    # p = 0.0500058 by statsmodels' proportions_ztest: 94.9994%, printed as the 95.00% that it misses.
    found = judged([20_000, 20_000], [1046, 1135])
    assert round(100 * found.score[0, 1], 2) == 95.0
    assert found.score[0, 1] < 0.95
    assert statuses(found)[1] == "inconclusive"


@pytest.mark.parametrize(
    "statistics",
    [
        Statistics(),
        Statistics(correction="holm"),
        Statistics(correction="dunnett"),
        Statistics(sequential="always_valid"),
    ],
)
def test_the_p_of_one_look_is_kept_before_corrections(statistics: Statistics) -> None:
    # 0.0396218 by statsmodels' proportions_ztest of 1089 and 1000 of 10,000.
    found = judged([10_000] * 3, [1000, 1089, 1000], statistics=statistics)
    assert np.exp(found.one_look_log_p[0, 1]) == pytest.approx(0.0396218, rel=1e-5)
    assert np.isnan(found.one_look_log_p[0, 0])


@METHODS
def test_interval_never_disagrees_with_the_status(method: str) -> None:
    hits = np.arange(850, 1160, 3)
    seen = set()
    for conversions in hits.tolist():
        found = judged([10_000, 10_000], [1000, conversions], analysis_method=method)
        seen.add(statuses(found)[1])
        low, high = found.effects.low[0, 1], found.effects.high[0, 1]
        assert (statuses(found)[1] == "winner") == (low > 0)
        assert (statuses(found)[1] == "loser") == (high < 0)
    assert {"winner", "loser"} < seen


def test_few_visitors_or_conversions_are_no_verdict() -> None:
    assert statuses(judged([MIN_VISITORS - 1, 5000], [50, 1]))[1] == "insufficient_data"
    assert statuses(judged([5000, 5000], [0, MIN_CONVERSIONS - 1]))[1] == "insufficient_data"
    assert statuses(judged([MIN_VISITORS, MIN_VISITORS], [0, 8]))[1] == "winner"


def test_the_fewest_conversions_are_those_that_could_decide() -> None:
    # Everything on one side of an even split: mid-p is 2^-m.
    assert np.exp(judged([10**6] * 2, [0, MIN_CONVERSIONS]).effects.log_p[0, 1]) < 0.05
    assert np.exp(judged([10**6] * 2, [0, MIN_CONVERSIONS - 1]).effects.log_p[0, 1]) > 0.05


def revenue(paying: int, cents: list[float]) -> Significance:
    rng = np.random.default_rng(8)
    n = 5000
    arms = [np.r_[rng.lognormal(np.log(mean), 0.3, paying), np.zeros(n - paying)] for mean in cents]
    goal = a_goal(goal_type="revenue", config={})
    moments = Moments.of(np.stack(arms)[None])
    return assess_significance(
        prepare(an_experiment(goals=(goal,)), observed([n, n], [paying, paying], cents=moments))
    )


def test_a_revenue_goal_is_judged_on_revenue_per_visitor() -> None:
    found = revenue(500, [1000.0, 1400.0])
    assert statuses(found) == ["control", "winner"]
    assert found.effects.improvement[0, 1] == pytest.approx(0.4, abs=0.05)
    assert found.effects.difference[0, 1] == pytest.approx(40, abs=5)


def test_few_paying_visitors_are_no_verdict() -> None:
    assert statuses(revenue(MIN_PAYING_VISITORS // 2 - 1, [1000.0, 9000.0]))[1] == "insufficient_data"


@pytest.mark.many(seconds=3)
@pytest.mark.parametrize(
    ("small", "payers"),
    [(1_000, 0.006), (300, 0.05), pytest.param(1_000, 0.03, marks=pytest.mark.long(seconds=3))],
)
def test_a_small_arm_does_not_lose_by_being_unlucky_with_few_who_pay(small: int, payers: float) -> None:
    rng, repeats = np.random.default_rng(9), trials(200, 500)
    n, lost = [10_000 - small, small], 0
    goal = a_goal(goal_type="revenue", config={})
    for _ in range(repeats):
        paying = rng.binomial(n, payers)
        arms = [np.r_[rng.lognormal(7.0, 1.0, k), np.zeros(of - k)] for k, of in zip(paying, n, strict=True)]
        cents = Moments.stack([Moments.of(arm) for arm in arms])[None]
        found = assess_significance(
            prepare(an_experiment(goals=(goal,)), observed(n, paying.tolist(), cents=cents))
        )
        lost += statuses(found)[1] != "insufficient_data" and statuses(found)[1] != "inconclusive"
    # By plain Welch, with 30 payers in all to judge by, 12 to 30 in a hundred lost.
    assert lost / repeats < 0.06


def test_unequal_arms_need_more_who_pay() -> None:
    visitors = np.array([900, 100, 300, 900])
    needed = conversions_needed(visitors, np.array([True, False]), 0)
    # s = 1/10: 30 (1 + 0.8² / 0.18); s = 1/4: 30 (1 + 0.5² / 0.375).
    assert needed[0].tolist() == [30, 136, 50, 30]
    assert (needed[1] == MIN_CONVERSIONS).all()
    nobody = conversions_needed(np.array([0, 0, 5]), np.array([True]), 0)
    assert nobody[0, 2] > 10**6


def test_without_a_control_nothing_is_compared() -> None:
    evidence = observed([], np.zeros((1, 0), int).tolist())
    data = prepare(an_experiment(variants=(), goals=(a_goal(),)), evidence)
    assert data.plan.control is None
    assert assess_significance(data).leader.tolist() == [-1]


def test_the_lead_of_undecided_variants_is_the_best_that_can_be_judged() -> None:
    # 60 of 99 is the best rate, and one visitor short of a verdict.
    found = judged([5000, 99, 5000, 5000], [2500, 60, 2510, 2490])
    assert found.leader[0] == 2


def test_goals_are_judged_each_on_its_own() -> None:
    goals = (a_goal(), a_goal(id="goal_2", name="Return", is_primary=False))
    found = assess_significance(
        prepare(an_experiment(goals=goals), observed([10_000] * 2, [[1000, 1250], [1000, 800]]))
    )
    assert found.status.tolist() == [["control", "winner"], ["control", "loser"]]


ONE_SIDED = Statistics(alternative="one_sided")


def test_a_one_sided_p_is_of_the_wanted_direction() -> None:
    # Two-sided p is 0.067.
    found = judged([10_000] * 2, [1000, 1079], statistics=ONE_SIDED)
    expected = proportions_ztest([1079, 1000], [10_000] * 2, alternative="larger")[1]
    assert np.exp(found.effects.log_p[0, 1]) == pytest.approx(expected, rel=1e-9)
    assert found.confidence[0, 1] == found.score[0, 1] == pytest.approx(1 - expected, rel=1e-9)
    assert statuses(found) == ["control", "winner"]
    assert statuses(judged([10_000] * 2, [1000, 1079])) == ["control", "inconclusive"]


def test_a_variant_loses_where_the_opposite_one_sided_test_is_significant() -> None:
    found = judged([10_000] * 2, [1079, 1000], statistics=ONE_SIDED)
    expected = proportions_ztest([1000, 1079], [10_000] * 2, alternative="larger")[1]
    assert np.exp(found.effects.log_p[0, 1]) == pytest.approx(expected, rel=1e-9)
    assert statuses(found) == ["control", "loser"]
    less = a_goal(config={"event_name": "return", "direction": "decrease"})
    assert statuses(judged([10_000] * 2, [1079, 1000], goals=(less,), statistics=ONE_SIDED))[1] == "winner"


@pytest.mark.parametrize("sequential", ["none", "always_valid"])
def test_a_one_sided_interval_never_disagrees_with_the_status(sequential: SequentialMethod) -> None:
    statistics = Statistics(alternative="one_sided", sequential=sequential)
    seen = set()
    for conversions in range(850, 1180, 3):
        found = judged([10_000] * 3, [1000, conversions, 1000], statistics=statistics)
        low, high = found.effects.low[0, 1], found.effects.high[0, 1]
        assert (statuses(found)[1] == "winner") == (low > 0)
        assert (statuses(found)[1] == "loser") == (high < 0)
        seen.add(statuses(found)[1])
        assert found.interval_levels[0, 1] == pytest.approx(0.95)
    assert seen == {"winner", "loser", "inconclusive"}


def test_one_sided_tests_of_equal_variants_err_as_often_as_they_may() -> None:
    # Fifty tests at once, a goal each: goals are judged one by one.
    hits = np.random.default_rng(11).binomial(10_000, 0.1, (40, 50, 2))
    goals = tuple(a_goal(id=f"goal_{i}", is_primary=i == 0) for i in range(50))
    experiment = an_experiment(goals=goals, statistics=ONE_SIDED)
    found = [assess_significance(prepare(experiment, observed([10_000] * 2, of.tolist()))) for of in hits]
    status = np.concatenate([one.status for one in found])[:, 1]
    # Three Monte-Carlo errors of 5% in 2000 are 1.5 points.
    assert (status == "winner").mean() == pytest.approx(0.05, abs=0.015)
    assert (status == "loser").mean() == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(
    ("visitors", "conversions"),
    [([100_000, 100], [10, 0]), ([100, 100_000], [0, 10]), ([50_000, 500], [20, 1])],
)
def test_few_conversions_of_unequal_arms_decide_nothing_for_a_posterior(
    visitors: list[int], conversions: list[int]
) -> None:
    found = judged(visitors, conversions, analysis_method="bayesian")
    assert statuses(found)[1] == "insufficient_data"


def test_an_improvement_that_comes_of_the_prior_alone_is_none() -> None:
    # The flat prior adds a conversion to the hundred visitors who had none, which looks like +5,000%.
    found = judged([100_000, 100], [10, 0], analysis_method="bayesian")
    for numbers in (found.effects.improvement, found.effects.low, found.effects.high):
        assert np.isnan(numbers[0, 1])
    # The rates observed are still told, and so is the chance.
    assert found.effects.difference[0, 1] == pytest.approx(-0.0001)
    assert found.effects.chance[0, 1] > 0.9


def test_posteriors_of_equal_arms_need_what_exact_tests_do() -> None:
    visitors, shares = np.array([1000, 1000, 100]), np.array([False])
    needed = conversions_needed(visitors, shares, 0, is_bayesian=True)
    # In arms of 1000 and 100, 50 conversions: 4.5 in the small one if nothing differs.
    np.testing.assert_array_equal(needed, [[5, 5, 50]])
    np.testing.assert_array_equal(conversions_needed(visitors, shares, 0), [[5, 5, 5]])


@pytest.mark.parametrize(("control_size", "size"), [(1.0, 1.0), (0.1, 0.9), (0.9, 0.1), (0.99, 0.01)])
def test_posteriors_without_a_difference_err_hardly_more_than_their_threshold_says(
    control_size: float, size: float
) -> None:
    """One look at 1,000 tests of rates of 2%, at a threshold of 95%, so 5% to either side."""
    rng = np.random.default_rng(8)
    n = np.array([20_000 * control_size, 20_000 * size]).astype(int)
    goals = tuple(a_goal(id=f"goal_{i}", is_primary=i == 0) for i in range(50))
    outcomes = []
    for _ in range(20):
        hits = rng.binomial(n, 0.02, (50, 2))
        experiment = an_experiment(goals=goals, analysis_method="bayesian")
        outcomes.append(assess_significance(prepare(experiment, observed(n.tolist(), hits.tolist()))).status)
    status = np.concatenate(outcomes)[:, 1]
    # Where each test has four conversions expected in the small arm, the gate keeps most of them out.
    assert (status == "winner").mean() <= 0.07
    assert (status == "loser").mean() <= 0.07


def test_a_posterior_wins_only_with_a_gain_that_was_observed() -> None:
    # An optimistic prior on the lift: +20%, give or take 2%, against a slightly lower rate.
    optimistic = Statistics(prior="lift", prior_lift_percent=20.0, prior_deviation_percent=2.0)
    found = judged([2000, 2000], [200, 198], analysis_method="bayesian", statistics=optimistic)
    assert found.effects.chance[0, 1] > 0.95
    assert statuses(found) == ["control", "inconclusive"]
    found = judged([2000, 2000], [200, 230], analysis_method="bayesian", statistics=optimistic)
    assert statuses(found) == ["control", "winner"]
