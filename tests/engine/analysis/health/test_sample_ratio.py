"""Splits whose weights changed: every epoch against its own."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.analyze import analyze
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.results.report import HealthCheck
from engine.stats.sequential.sample_ratio import check_split_over_epochs
from tests.builders import NOW, an_experiment
from tests.observations import health_of, observed, observed_by_epoch


def found(check: str, evidence: Evidence, **fields: Any) -> HealthCheck:
    experiment = an_experiment(**{"status": "running", "traffic_strategy": "bandit", **fields})
    return health_of(experiment, evidence)[check]


def of_epochs(weights: Any, visitors: Any, **more: Any) -> Evidence:
    return observed_by_epoch(weights, visitors, np.zeros_like(np.array(visitors)), **more)


def test_chi_squares_and_degrees_of_freedom_of_epochs_add_up() -> None:
    visitors = [[520, 480, 515], [700, 260, 40]]
    check = found(
        "sample_ratio", of_epochs([[1, 1, 1], [0.7, 0.25, 0.05]], visitors), weights=(0.7, 0.25, 0.05)
    )
    each = [
        stats.chisquare(visitors[0]),
        stats.chisquare(visitors[1], np.array([0.7, 0.25, 0.05]) * 1000),
    ]
    assert check.status == "ok"
    assert check.details["p_value"] == pytest.approx(
        stats.chi2.sf(sum(one.statistic for one in each), 4), rel=1e-9
    )
    assert [one["p_value"] for one in check.details["epochs"]] == pytest.approx([one.pvalue for one in each])
    by_sequence = check_split_over_epochs(np.array(visitors), np.array([[1, 1, 1], [0.7, 0.25, 0.05]]))
    assert check.details["always_valid_p_value"] == pytest.approx(float(np.exp(by_sequence.log_p)))


def test_a_split_as_planned_in_each_epoch_is_sound_though_no_single_weights_explain_it() -> None:
    evidence = of_epochs([[1, 1], [9, 1]], [[5000, 5040], [8990, 1010]])
    assert found("sample_ratio", evidence, weights=(9, 1)).status == "ok"
    pooled = observed([13_990, 6_050], [0, 0])
    assert found("sample_ratio", pooled, weights=(9, 1)).status == "alarm"


def test_the_share_expected_of_all_visitors_is_that_of_the_epochs_they_came_in() -> None:
    evidence = of_epochs([[1, 1], [9, 1]], [[1000, 1000], [5400, 600]])
    expected = [(2000 * 0.5 + 6000 * 0.9) / 8000, (2000 * 0.5 + 6000 * 0.1) / 8000]
    shares = found("sample_ratio", evidence, weights=(9, 1)).details["expected_shares"]
    assert list(shares.values()) == pytest.approx(expected)
    report = analyze(an_experiment(status="running", weights=(9, 1)), evidence, now=NOW)
    assert [one.sample_ratio_expected for one in report.goals[0].variants] == pytest.approx(expected)


def test_a_broken_epoch_alarms_and_is_named() -> None:
    evidence = of_epochs([[1, 1], [9, 1]], [[5000, 5040], [8500, 1500]])
    check = found("sample_ratio", evidence, weights=(9, 1))
    assert check.status == "alarm"
    assert "'Control' has 85% of visitors since 2026-03-01 10:00 UTC instead of 90%" in check.message


def test_a_bandit_that_has_not_moved_is_held_against_its_only_weights() -> None:
    assert found("sample_ratio", observed([9000, 1000], [1, 1])).status == "alarm"


def test_who_came_while_weights_changed_is_not_held_against_the_new_ones() -> None:
    # A thousand were still split evenly.
    evidence = of_epochs([[1, 1], [9, 1]], [[5000, 5040], [9490, 1510]], settled=[[5000, 5040], [8990, 1010]])
    assert found("sample_ratio", evidence, weights=(9, 1)).status == "ok"


def test_triggers_that_come_late_warn_only() -> None:
    evidence = of_epochs([[1, 1], [9, 1]], [[5000, 5040], [8500, 1500]])
    check = found("sample_ratio", evidence, weights=(9, 1), trigger="manual")
    assert check.status == "warning"
    assert check.message.endswith("Visitors who met the trigger late may explain part of it.")


def test_epochs_that_are_too_small_are_passed_over() -> None:
    evidence = of_epochs([[1, 1], [1, 3], [1, 1]], [[3, 0], [0, 0], [5000, 5040]])
    check = found("sample_ratio", evidence)
    assert check.status == "ok"
    assert [one["p_value"] is None for one in check.details["epochs"]] == [True, True, False]
    assert found("sample_ratio", of_epochs([[1, 1], [1, 3]], [[3, 0], [0, 2]])).status == "not_applicable"


def test_all_weight_on_one_arm_leaves_nothing_to_test_in_that_epoch() -> None:
    evidence = of_epochs([[1, 1], [1, 0]], [[5000, 5040], [9000, 0]])
    assert found("sample_ratio", evidence, weights=(1, 0)).details["epochs"][1]["p_value"] is None
    assert found("unweighted_arms", evidence, weights=(1, 0)).status == "ok"


@pytest.mark.parametrize(("late", "status"), [(9, "ok"), (90, "ok"), (91, "alarm")])
def test_some_may_come_late_to_a_variant_that_has_lost_its_weight(late: int, status: str) -> None:
    evidence = of_epochs([[1, 1], [1, 0]], [[5000, 5040], [9090 - late, late]])
    assert found("unweighted_arms", evidence, weights=(1, 0)).status == status


def test_nobody_may_come_to_a_variant_that_never_had_weight() -> None:
    evidence = of_epochs([[1, 1, 0], [3, 1, 0]], [[500, 504, 0], [300, 100, 2]])
    check = found("unweighted_arms", evidence, weights=(3, 1, 0))
    assert (check.status, check.details) == ("alarm", {"visitors": {"Treatment 2": 2}})


@pytest.mark.long(seconds=4)
def test_an_honest_bandit_alarms_once_in_a_thousand() -> None:
    rng = np.random.default_rng(3)
    shares = rng.dirichlet([2, 2, 2], 12) * 0.8 + 0.2 / 3
    statuses = []
    for _ in range(500):
        visitors = np.stack([rng.multinomial(3000, one) for one in shares])
        statuses.append(found("sample_ratio", of_epochs(shares, visitors), weights=(1, 1, 1)).status)
    # 500 at 1 in 1,000: more than 4 alarms happen less than once in 5,000 such tests.
    assert statuses.count("alarm") <= 4
