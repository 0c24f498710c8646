"""Mistakes that tools for experiments are known to make, each by name, and that we do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.analysis.analyze import analyze
from engine.analysis.results.variant_result import VariantResult
from engine.stats.moments import Moments
from engine.vocabulary import AnalysisMethod
from tests.builders import NOW, a_goal, an_experiment
from tests.examples import trials
from tests.observations import observed


def treatment(
    visitors: list[int], conversions: list[int], method: AnalysisMethod = "frequentist"
) -> VariantResult:
    experiment = an_experiment(analysis_method=method)
    return analyze(experiment, observed(visitors, conversions), now=NOW).goals[0].variants[1]


def revenue(cents: Moments, buyers: list[list[int]]) -> VariantResult:
    experiment = an_experiment(goals=(a_goal(goal_type="revenue", config={}),))
    evidence = observed(cents.n[0].astype(int).tolist(), buyers, cents=cents)
    return analyze(experiment, evidence, now=NOW).goals[0].variants[1]


def test_mirrored_arms_have_the_same_p() -> None:
    # A relative delta method gives p = 0.0 one way and 0.39 the other. The mid-p lies below Fisher's 0.0115.
    up, down = treatment([1000, 1000], [1, 10]).p_value, treatment([1000, 1000], [10, 1]).p_value
    assert up == pytest.approx(down, rel=1e-12)
    exact = stats.fisher_exact(np.array([[10, 990], [1, 999]])).pvalue
    assert exact == pytest.approx(0.0115, abs=5e-5)
    assert 0.5 * exact < (up or 0) < exact


def test_control_without_conversions_has_an_answer() -> None:
    result = treatment([100, 100], [0, 8])
    # Twice the one-sided mid-p: half of the only table beyond which there is none.
    expected = stats.hypergeom.pmf(8, 200, 8, 100)
    assert result.p_value == pytest.approx(expected, rel=1e-9)
    assert (result.status, result.improvement) == ("winner", None)
    assert result.compared.absolute_difference == pytest.approx(0.08)
    assert result.reason


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_no_p_value_underflows(method: AnalysisMethod) -> None:
    result = treatment([10**6, 10**6], [10_000, 200_000], method)
    assert result.compared.log_p_value is not None
    # Mills' ratio: so far out, two tails are 2 φ(z) / z to six digits.
    z = 0.19 / np.sqrt(2 * 0.105 * 0.895 / 10**6)
    assert result.compared.log_p_value == pytest.approx(
        -(z**2) / 2 - np.log(z * np.sqrt(2 * np.pi) / 2), rel=1e-6
    )


@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from(["frequentist", "bayesian"]))
def test_interval_and_verdict_never_disagree(control: int, hits: int, method: AnalysisMethod) -> None:
    result = treatment([400, 400], [control, hits], method)
    interval = result.improvement_interval
    if interval is None or result.status == "insufficient_data":
        return
    above = interval.low is not None and interval.low > 0
    below = interval.high is not None and interval.high < 0
    assert (result.status == "winner", result.status == "loser") == (above, below)


@pytest.mark.many(seconds=6)
@pytest.mark.slow
def test_lognormal_revenue_trap_stays_at_its_level() -> None:
    # Equal means and different shapes: a lognormal model calls 87% of these tests for one arm or the other.
    rng = np.random.default_rng(11)
    runs, n = trials(100, 400), 2000
    wide = rng.lognormal(8.0 - 0.5, 1.0, (runs, n))
    narrow = rng.lognormal(8.0 - 0.08, 0.4, (runs, n))
    called = 0
    for control, variant in zip(wide, narrow, strict=True):
        result = revenue(Moments.of(np.stack([control, variant])[None]), [[n, n]])
        called += result.status in {"winner", "loser"}
    # Three standard errors of a share of 5% over 400 runs.
    assert called / runs < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_variance_of_values_around_ten_million_is_right() -> None:
    # Sums of squares cancel here: 1e14 per visitor hides a variance of 1. One-pass formulas give 0 or less.
    values = 1e7 + np.array([[0.0, 1.0, 2.0] * 100, [0.5, 1.5, 2.5] * 100])
    result = revenue(Moments.of(values[None]), [[300, 300]])
    assert result.p_value == pytest.approx(
        stats.ttest_ind(values[1], values[0], equal_var=False).pvalue, rel=1e-6
    )


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_one_visitor_an_arm_is_no_error(method: AnalysisMethod) -> None:
    result = treatment([1, 1], [0, 1], method)
    assert result.status == "insufficient_data"
    assert result.reason


def test_weights_of_zero_are_no_arms_of_the_split() -> None:
    experiment = an_experiment(weights=(1, 1, 0), status="running")
    report = analyze(experiment, observed([5000, 5000, 0], [500, 500, 0]), now=NOW)
    (check,) = (check for check in report.health if check.check == "sample_ratio")
    assert (check.status, check.details["p_value"]) == ("ok", 1.0)
