"""Reports of experiments whose weights changed, from evidence to sentence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.comparison.stratified import compared_share
from engine.analysis.decision.experiment_decision import decide_experiment
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed, observed_by_epoch

# A good arm of 20% more in both epochs; the second is the worse day, and most of it was the variant's.
WEIGHTS = [[1, 1], [1, 9]]
VISITORS = [[10_000, 10_000], [2_000, 18_000]]
HITS = [[1_000, 1_200], [100, 1_080]]


def a_bandit(**fields: Any) -> Experiment:
    return an_experiment(**{"status": "running", "traffic_strategy": "bandit", "weights": (1, 9), **fields})


def report_of(evidence: Evidence, **fields: Any) -> Report:
    return analyze(a_bandit(**fields), evidence, now=NOW)


def variant_of(report: Report, variant: int = 1) -> VariantResult:
    return report.goals[0].variants[variant]


def by_hand() -> tuple[float, float, float, float]:
    """The two means and their variances, by plain arithmetic."""
    n, hits = np.array(VISITORS), np.array(HITS)
    share = (n.sum(axis=1) / n.sum())[:, None]
    rate = hits / n
    variance = rate * (1 - rate) / (n - 1)
    mean, noise = (share * rate).sum(axis=0), (share**2 * variance).sum(axis=0)
    return (*mean, *noise)


def skewness_by_hand() -> float:
    """Σ w³ μ₃ (1/n_t² - 1/n_c²) over (Σ w² s² (1/n_t + 1/n_c))^1.5, the moments pooled within epochs."""
    n, hits = np.array(VISITORS, float), np.array(HITS)
    share, rate = n.sum(axis=1) / n.sum(), hits / n
    square = (n * rate * (1 - rate)).sum(axis=1) / n.sum(axis=1)
    cube = (n * rate * (1 - rate) * (1 - 2 * rate)).sum(axis=1) / n.sum(axis=1)
    third = (share**3 * cube * (1 / n[:, 1] ** 2 - 1 / n[:, 0] ** 2)).sum()
    return float(third / (share**2 * square * (1 / n).sum(axis=1)).sum() ** 1.5)


def test_arms_are_compared_within_epochs() -> None:
    control, variant, v_control, v_variant = by_hand()
    result = variant_of(report_of(observed_by_epoch(WEIGHTS, VISITORS, HITS)))
    assert control == pytest.approx(0.075)
    assert result.improvement == pytest.approx(0.2)
    assert result.compared.absolute_difference == pytest.approx(variant - control)
    z = (variant - control) / np.sqrt(v_control + v_variant)
    skewness = skewness_by_hand()
    g = z + skewness * z**2 / 3 + skewness**2 * z**3 / 27 + skewness / 6
    assert result.p_value == pytest.approx(2 * stats.norm.sf(g), rel=1e-2)
    assert result.p_value != pytest.approx(2 * stats.norm.sf(z), rel=1e-2)
    assert result.status == "winner"
    # Rates stay what was counted: the variant had more of the worse day.
    assert result.conversion_rate == pytest.approx(2_280 / 28_000)
    pooled = variant_of(report_of(observed([12_000, 28_000], [1_100, 2_280]), traffic_strategy="fixed"))
    assert pooled.improvement is not None
    assert pooled.improvement < 0


def test_the_interval_leaves_out_zero_exactly_where_the_test_calls() -> None:
    for extra in range(0, 260, 20):
        hits = [[1_000, 1_000 + extra], [100, 900 + extra]]
        result = variant_of(report_of(observed_by_epoch(WEIGHTS, VISITORS, hits)))
        interval, p = result.improvement_interval, result.p_value
        assert interval is not None
        assert interval.low is not None
        assert p is not None
        assert (interval.low > 0) == (p < 0.05)


def test_a_posterior_is_of_the_same_estimates() -> None:
    control, variant, v_control, v_variant = by_hand()
    hits = [[1_000, 1_040], [100, 900]]
    found = report_of(observed_by_epoch(WEIGHTS, VISITORS, HITS), analysis_method="bayesian")
    z = (variant - control) / np.sqrt(v_control + v_variant)
    assert variant_of(found).chance_to_beat == pytest.approx(stats.norm.cdf(z), abs=1e-9)
    unsure = report_of(observed_by_epoch(WEIGHTS, VISITORS, hits), analysis_method="bayesian")
    assert 0.5 < (variant_of(unsure).chance_to_beat or 0) < 0.999


def test_a_single_set_of_weights_changes_nothing() -> None:
    plain = report_of(observed([10_000, 10_000], [1_000, 1_100]))
    fixed = report_of(observed([10_000, 10_000], [1_000, 1_100]), traffic_strategy="fixed")
    assert plain.estimand is None
    assert variant_of(plain).p_value == variant_of(fixed).p_value
    pairs = prepare(a_bandit(), observed([10, 10], [1, 2])).pairs
    assert pairs is not None
    assert pairs.control.value.tolist() == [[0.1, 0.1]]


def test_the_report_says_what_is_estimated() -> None:
    estimand = report_of(observed_by_epoch(WEIGHTS, VISITORS, HITS)).estimand
    assert estimand is not None
    assert estimand.compared_share == 1.0
    assert estimand.description.startswith(
        "Weights changed once, so variants are compared within each period"
    )
    assert estimand.epochs[1].weights == {"var_0": 1.0, "var_1": 9.0}
    assert estimand.epochs[1].visitors == {"var_0": 2_000, "var_1": 18_000}


def test_epochs_of_one_arm_only_are_not_compared_and_said_so() -> None:
    evidence = observed_by_epoch([[1, 1], [0, 1]], [[5_000, 5_000], [0, 10_000]], [[500, 600], [0, 3_000]])
    report = report_of(evidence, weights=(0, 1))
    assert variant_of(report).improvement == pytest.approx(0.2)
    assert report.estimand is not None
    assert report.estimand.compared_share == 0.5
    assert report.estimand.description.endswith("50% of visitors are compared.")


def test_settings_that_are_not_used_are_named() -> None:
    evidence = observed_by_epoch(WEIGHTS, VISITORS, HITS)
    goals = (a_goal(goal_type="revenue", config={"cap_percentile": 99}),)
    report = report_of(evidence, goals=goals, statistics=Statistics(cuped=True), traffic_strategy="fixed")
    assert report.estimand is not None
    assert report.estimand.description.endswith(
        "Not available by period, and so not used: pre-period activity, caps."
    )


def test_the_best_arm_is_the_best_within_epochs() -> None:
    result = variant_of(report_of(observed_by_epoch(WEIGHTS, VISITORS, HITS)))
    assert result.chance_to_be_best is not None
    assert result.chance_to_be_best > 0.999


def test_arms_that_never_met_have_no_comparison_and_a_reason() -> None:
    evidence = observed_by_epoch([[1, 0], [0, 1]], [[5_000, 0], [0, 5_000]], [[500, 0], [0, 600]])
    result = variant_of(report_of(evidence, weights=(0, 1)))
    assert (result.improvement, result.p_value, result.status) == (None, None, "insufficient_data")
    assert result.reason == (
        "'Control' and 'Treatment 1' never had visitors under the same weights, so they can't be compared"
    )


def test_a_prior_from_before_that_is_not_used_is_named() -> None:
    report = report_of(
        observed_by_epoch(WEIGHTS, VISITORS, HITS),
        analysis_method="bayesian",
        statistics=Statistics(prior="pre_period"),
    )
    assert report.estimand is not None
    assert report.estimand.description.endswith("and so not used: pre-period activity.")


def test_nobody_yet_is_nothing_to_compare() -> None:
    evidence = observed_by_epoch(WEIGHTS, [[0, 0], [0, 0]], [[0, 0], [0, 0]])
    report = report_of(evidence)
    assert report.estimand is not None
    assert report.estimand.compared_share is None
    assert variant_of(report).reason == "'Control' has no visitors yet"


def test_few_conversions_have_no_exact_test_to_fall_back_on() -> None:
    evidence = observed_by_epoch(WEIGHTS, [[500, 500], [500, 500]], [[2, 10], [1, 16]])
    result = variant_of(report_of(evidence))
    assert result.status == "insufficient_data"
    assert result.reason is not None
    assert "29 of the 30 conversions" in result.reason


def money(rng: np.random.Generator, means: list[list[float]]) -> Moments:
    epochs = [
        Moments.stack([Moments.of(rng.exponential(mean, n)) for mean, n in zip(*rows, strict=True)])
        for rows in zip(means, VISITORS, strict=True)
    ]
    return Moments.stack(epochs)[:, None]


def test_money_is_compared_within_epochs_too() -> None:
    cents = money(np.random.default_rng(1), [[1000, 1200], [500, 600]])
    goals = (a_goal(goal_type="revenue", config={}),)
    evidence = observed_by_epoch(WEIGHTS, VISITORS, VISITORS, cents=cents)
    result = variant_of(report_of(evidence, goals=goals))
    share = np.array([0.5, 0.5])
    means = (share[:, None] * cents.mean[:, 0]).sum(axis=0)
    assert result.improvement == pytest.approx(means[1] / means[0] - 1)
    assert result.details.revenue.improvement == pytest.approx(result.improvement)
    assert result.details.revenue.absolute_difference == pytest.approx(means[1] - means[0])
    # Taken apart over all visitors, the variant would have its worse day held against it.
    assert (result.details.conversion_part, result.details.spending_part) == (None, None)
    decision = report_of(evidence, goals=goals).goals[0].decision
    assert decision.incremental_revenue_impact_cents == round((means[1] - means[0]) * 28_000)


def test_a_guardrail_is_judged_within_epochs() -> None:
    guard = a_goal(is_primary=False, config={"event_name": "signup", "guardrail_margin_percent": 1})
    primary = a_goal(id="goal_0", name="Any")
    experiment = a_bandit(goals=(primary, guard))

    def twice(evidence: Evidence) -> Evidence:
        """The same of both goals."""
        epochs = evidence.epochs
        assert epochs is not None
        revenue = epochs.revenue[:, [0, 0]]
        both = replace(
            epochs,
            conversions=np.repeat(epochs.conversions, 2, axis=1),
            revenue=revenue,
            values=revenue,
        )
        hits = both.conversions.sum(axis=0)
        return observed(evidence.visitors.tolist(), hits.tolist(), epochs=both)

    evidence = twice(observed_by_epoch(WEIGHTS, VISITORS, HITS))
    assert not is_broken(experiment, evidence)
    # Pooled, the variant looks worse by 11%: it had more of the worse day.
    assert is_broken(experiment, replace(evidence, epochs=None))
    harmed = twice(observed_by_epoch(WEIGHTS, VISITORS, [[1_000, 800], [100, 720]]))
    assert is_broken(experiment, harmed)


def is_broken(experiment: Experiment, evidence: Evidence) -> bool:
    data = prepare(experiment, evidence, is_finished=True)
    decision = decide_experiment(data, assess_significance(data), has_alarm=False)
    return bool(decision.findings.broken[1, 1])


@pytest.mark.parametrize("correction", ["holm", "dunnett"])
def test_several_arms_are_corrected_over_their_epochs(correction: Any) -> None:
    evidence = observed_by_epoch(
        [[1, 1, 1], [1, 5, 4]],
        [[5_000, 5_000, 5_000], [1_500, 7_500, 6_000]],
        [[500, 600, 520], [75, 450, 312]],
    )
    plain, adjusted = (
        report_of(evidence, weights=(1, 5, 4), statistics=Statistics(correction=one))
        for one in ("bonferroni", correction)
    )
    for arm in (1, 2):
        raw, p = variant_of(plain, arm).p_value, variant_of(adjusted, arm).p_value
        assert raw is not None
        assert p is not None
        assert raw <= p <= min(1.0, 2.1 * raw)


def test_a_fixed_split_that_was_edited_may_be_watched_and_a_bandit_not() -> None:
    evidence = observed_by_epoch(WEIGHTS, VISITORS, HITS)
    fixed = a_bandit(traffic_strategy="fixed", statistics=Statistics(sequential="always_valid"))
    assert assess_significance(prepare(fixed, evidence)).monitoring is not None
    assert assess_significance(prepare(a_bandit(), evidence)).monitoring is None
    assert variant_of(analyze(fixed, evidence, now=NOW)).status == "winner"


def test_without_control_or_weights_changed_the_share_is_none_or_all() -> None:
    assert compared_share(0, observed([10, 10], [1, 1])) == 1.0
    assert compared_share(0, observed([0, 0], [0, 0])) is None
