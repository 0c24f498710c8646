from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import power_proportions_2indep, samplesize_proportions_2indep_onetail

from engine.design.planning.sample_size import (
    Mean,
    Plan,
    Share,
    days_to_go,
    design_effect,
    detectable_lift,
    in_whole_weeks,
    power_with,
    visitors_needed,
)
from engine.design.planning.stopping import Stopping, StoppingMethod
from engine.stats.arrays import FloatArray

METHODS: tuple[StoppingMethod, ...] = ("fixed", "always_valid", "group_sequential")


def test_documented_answers_of_r_are_ours() -> None:
    # ?power.prop.test: n = 50, p1 = .5, p2 = .75 has power 0.740; power .90 needs n = 76.7.
    assert power_with(Share(0.5), 0.5, 50, Plan()) == pytest.approx(0.740, abs=5e-4)
    assert visitors_needed(Share(0.5), 0.5, Plan(power=0.9)) == 77


def test_a_share_of_one_in_five_needs_what_sample_size_tables_say() -> None:
    # Fleiss, Levin and Paik (2003), table A.4 without continuity correction: 0.20 against 0.25, power 0.8.
    assert visitors_needed(Share(0.2), 0.25, Plan()) == 1094


def test_one_sided_shares_agree_with_statsmodels() -> None:
    wanted = samplesize_proportions_2indep_onetail(0.005, 0.05, power=0.8, alpha=0.05, alternative="larger")
    plan = Plan(is_one_sided=True)
    # Ours counts the two in a hundred thousand tests that cross on the other side, too.
    assert visitors_needed(Share(0.05), 0.1, plan) == pytest.approx(wanted, rel=1e-4)
    assert power_with(Share(0.05), 0.1, wanted, plan) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize("stopping", ["fixed", "always_valid", "group_sequential"])
def test_a_one_sided_plan_is_the_two_sided_one_of_twice_alpha(stopping: StoppingMethod) -> None:
    one, two = Plan(alpha=0.05, is_one_sided=True), Plan(alpha=0.1)
    sizes = [
        float(visitors_needed(Share(0.05), 0.1, replace(plan, stopping=Stopping(stopping))))
        for plan in (one, two)
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
@pytest.mark.parametrize(("rate", "lift"), [(0.001, 0.5), (0.05, 0.1), (0.05, -0.1), (0.5, 0.02)])
def test_shares_agree_with_statsmodels(rate: float, lift: float, ratio: float) -> None:
    plan = Plan(ratio=ratio)
    # statsmodels calls the group whose rate is given `prop2` and its size n1 / ratio.
    expected = samplesize_proportions_2indep_onetail(
        diff=rate * lift,
        prop2=rate,
        power=0.8,
        ratio=1 / ratio,
        alpha=0.025,
        alternative="larger" if lift > 0 else "smaller",
    )
    needed = visitors_needed(Share(rate), lift, plan)
    assert needed * ratio == pytest.approx(expected, rel=2e-3, abs=2 * ratio)
    power = power_proportions_2indep(
        rate * lift, rate, float(needed * ratio), ratio=1 / ratio, alpha=0.05, return_results=False
    )
    assert power_with(Share(rate), lift, needed, plan) == pytest.approx(power, abs=2e-5)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("lift", "growth"), [(0.05, 1.05**2), (-0.05, 0.95)])
def test_means_agree_with_statsmodels(lift: float, growth: float, ratio: float) -> None:
    # statsmodels has one deviation for both arms: that which gives the difference the same variance.
    deviation = 25.0 * np.sqrt((1.0 + growth / ratio) / (1.0 + 1.0 / ratio))
    expected = NormalIndPower().solve_power(effect_size=0.5 / deviation, alpha=0.05, power=0.9, ratio=ratio)
    needed = visitors_needed(Mean(10.0, 25.0), lift, Plan(power=0.9, ratio=ratio))
    assert needed == pytest.approx(np.ceil(expected), abs=1)


def simulated_revenue(
    rng: np.random.Generator, visitors: int, payers: float, *, scale: float, runs: int
) -> tuple[FloatArray, FloatArray]:
    """Draw means of lognormal revenue per visitor, and the variances of these means."""
    paying = rng.binomial(visitors, payers, runs)
    amounts = rng.lognormal(0.0, 1.0, paying.sum()) * scale
    starts = np.concatenate([[0], paying.cumsum()[:-1]])
    total, squares = np.add.reduceat(amounts, starts), np.add.reduceat(amounts**2, starts)
    mean = total / visitors
    return mean, (squares / visitors - mean**2) / visitors


@pytest.mark.parametrize("lift", [0.2, -0.2])
@pytest.mark.parametrize("growing", ["number of orders", "value of orders"])
def test_planned_revenue_has_its_power_whatever_makes_it_grow(growing: str, lift: float) -> None:
    payers, runs, rng = 0.05, 2_000, np.random.default_rng(5)
    mean, square = payers * np.exp(0.5), payers * np.exp(2.0)
    n = int(visitors_needed(Mean(mean, np.sqrt(square - mean**2)), lift, Plan()))
    more = {"payers": payers * (1 + lift), "scale": 1.0}
    if growing == "value of orders":
        more = {"payers": payers, "scale": 1 + lift}
    control, control_variance = simulated_revenue(rng, n, payers, scale=1.0, runs=runs)
    variant, variant_variance = simulated_revenue(rng, n, **more, runs=runs)
    z = (variant - control) / np.sqrt(control_variance + variant_variance)
    found = (np.sign(lift) * z > stats.norm.ppf(0.975)).mean()
    # A Monte-Carlo error is 0.9 points; the case that was not planned for has more power.
    assert 0.78 < found < 0.87


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("margin", [None, 0.03])
@pytest.mark.parametrize("metric", [Share([0.02, 0.3]), Mean([5.0, 100.0], 40.0, correlation=0.5)])
def test_size_power_and_detectable_lift_are_one_relation(
    method: StoppingMethod, margin: float | None, metric: Any
) -> None:
    plan = Plan(stopping=Stopping(method), margin=margin, comparisons=2, ratio=0.5)
    needed = visitors_needed(metric, 0.07, plan)
    np.testing.assert_allclose(power_with(metric, 0.07, needed, plan), 0.8, atol=0.002)
    np.testing.assert_allclose(detectable_lift(metric, needed, plan), 0.07, rtol=2e-3)


def test_the_planned_power_is_what_simulated_tests_have() -> None:
    rng = np.random.default_rng(1)
    n = int(visitors_needed(Share(0.05), 0.2, Plan()))
    control, variant = rng.binomial(n, 0.05, 20_000) / n, rng.binomial(n, 0.06, 20_000) / n
    pooled = (control + variant) / 2
    z = (variant - control) / np.sqrt(pooled * (1 - pooled) * 2 / n)
    assert (np.abs(z) > stats.norm.ppf(0.975)).mean() == pytest.approx(0.8, abs=0.01)


def test_non_inferiority_has_its_planned_power_in_simulated_tests() -> None:
    rng = np.random.default_rng(2)
    n = int(visitors_needed(Share(0.2), 0.0, Plan(margin=0.05)))
    control, variant = rng.binomial(n, 0.2, 20_000) / n, rng.binomial(n, 0.2, 20_000) / n
    error = np.sqrt((variant * (1 - variant) + 0.95**2 * control * (1 - control)) / n)
    shown = (variant - 0.95 * control) / error > stats.norm.ppf(0.975)
    assert shown.mean() == pytest.approx(0.8, abs=0.01)


def test_a_covariate_that_explains_half_the_variance_halves_the_visitors() -> None:
    plain = visitors_needed(Mean(10.0, 30.0), 0.02, Plan())
    reduced = visitors_needed(Mean(10.0, 30.0, correlation=np.sqrt(0.5)), 0.02, Plan())
    assert reduced == pytest.approx(plain / 2, abs=1)


def test_more_comparisons_need_more_visitors() -> None:
    single = visitors_needed(Share(0.05), 0.1, Plan())
    # The level of each of four is 0.0125: Bonferroni.
    assert visitors_needed(Share(0.05), 0.1, Plan(comparisons=4)) == visitors_needed(
        Share(0.05), 0.1, Plan(alpha=0.0125)
    )
    assert visitors_needed(Share(0.05), 0.1, Plan(comparisons=4)) > 1.3 * single


def test_impossible_questions_have_no_number() -> None:
    # No effect, more conversions than visitors, nobody converts; and a loss beyond the margin.
    assert np.isnan(visitors_needed(Share([0.05, 0.5, 0.0]), [0.0, 1.5, 0.1], Plan())).all()
    assert np.isnan(visitors_needed(Share(0.05), -0.02, Plan(margin=0.01)))
    assert np.isnan(power_with(Share(0.05), 0.1, 0, Plan()))
    assert np.isnan(detectable_lift(Share([0.05, 0.0]), [0, 100], Plan())).all()


@pytest.mark.parametrize("margin", [None, 0.05])
@pytest.mark.parametrize(
    "metric", [Share(np.geomspace(1e-4, 0.95, 40)), Mean(10.0, np.geomspace(1.0, 1e3, 40))]
)
def test_the_detectable_lift_solves_its_equation(metric: Any, margin: float | None) -> None:
    for visitors in (300, 20_000, 10**7):
        plan = Plan(ratio=0.3, margin=margin)
        found = detectable_lift(metric, visitors, plan)
        known = np.isfinite(found)
        # Brent's method (SciPy) on Fleiss, Levin and Paik's formula, of one metric after another.
        for place in range(40):
            one = (
                Share(np.take(metric.rate, place))
                if isinstance(metric, Share)
                else Mean(10.0, np.take(metric.deviation, place))
            )

            def power(lift: float, one: Any = one, n: int = visitors, plan: Plan = plan) -> float:
                return float(np.nan_to_num(power_with(one, lift, n, plan))) - 0.8

            low, high = -(margin or 0.0) + 1e-12, min(float(one.highest_lift()), 1e4) * (1 - 1e-12)
            assert known[place] == (power(high) > 0), place
            if known[place]:
                assert found[place] == pytest.approx(
                    optimize.brentq(power, low, high, xtol=1e-14), rel=1e-8, abs=1e-11
                )


def test_too_few_visitors_can_detect_nothing() -> None:
    assert np.isnan(detectable_lift(Share(0.9), 20, Plan()))


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": 0.0}, {"power": 1.0}, {"power": 0.04}, {"comparisons": 0}, {"ratio": 0.0}, {"margin": 1.0}],
)
def test_promises_that_cannot_be_kept_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"share|chance|ratio"):
        Plan(**wrong)


def test_days_to_go_round_up_and_say_when_nobody_comes() -> None:
    assert days_to_go(1_000, 400, 250) == 3
    assert days_to_go(1_000, 1_200, 250) == 0
    assert days_to_go(1_000, 400, 0) is None
    assert days_to_go(float("nan"), 400, 250) is None


def test_whole_weeks_hold_every_weekday_equally_often() -> None:
    assert [in_whole_weeks(days) for days in (0, 1, 7, 8)] == [0, 7, 7, 14]


def test_the_design_effect_is_that_of_sums_over_clusters() -> None:
    # Kish (1965), "Survey sampling": 1 + (m - 1) rho for clusters of one size.
    assert design_effect(100, 0.05) == pytest.approx(5.95)
    rng = np.random.default_rng(1)
    # Eldridge, Ashby and Kerry (2006): sizes that vary, against the variance of simulated ratios of sums.
    sizes = np.array([10, 10, 10, 90])
    values = 1.0 + rng.normal(0, np.sqrt(0.1), (40_000, 4)) + rng.normal(0, np.sqrt(0.9 / sizes), (40_000, 4))
    ratios = (values * sizes).sum(axis=1) / sizes.sum()
    variation = float(sizes.std() / sizes.mean())
    expected = design_effect(float(sizes.mean()), 0.1, variation) / sizes.sum()
    assert ratios.var() == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("metric", [Share, lambda rate, **more: Mean(rate, 3.0, **more)])
def test_clusters_need_as_many_times_the_visitors_as_their_design_effect(metric: Any) -> None:
    alone, together = (
        visitors_needed(metric(0.05, **more), 0.1, Plan()) for more in ({}, {"design_effect": 5.0})
    )
    assert together == pytest.approx(5 * alone, rel=1e-3)
