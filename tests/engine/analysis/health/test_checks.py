"""Each check on data that it must pass, and on data that it must not."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.senders import SenderEvidence
from engine.analysis.health import checks
from engine.analysis.health.check_result import SAMPLE_RATIO_ALARM, CheckInput, CheckResult
from engine.analysis.health.checks import CHECKS
from engine.analysis.results.report import HealthCheck
from engine.design.experiment import Experiment
from engine.stats.moments import Moments
from tests.builders import NOW, STARTED, a_goal, an_experiment
from tests.observations import health_of, observed


def found(check: str, evidence: Evidence, experiment: Experiment | None = None) -> HealthCheck:
    return health_of(experiment or an_experiment(status="running"), evidence)[check]


def detectable_change(experiment: Experiment, evidence: Evidence) -> float | None:
    return prepare(experiment, evidence).sample.detectable_now


def test_every_check_reports_once_in_order() -> None:
    names = list(health_of(an_experiment(), observed([5, 5], [1, 1])))
    assert names == [check.__name__ for check in CHECKS]


def test_a_check_that_raises_is_told_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def novelty(_: CheckInput) -> CheckResult:
        raise ZeroDivisionError

    others = health_of(an_experiment(), observed([5, 5], [1, 1]))
    monkeypatch.setattr(
        checks, "CHECKS", tuple(novelty if one.__name__ == "novelty" else one for one in CHECKS)
    )
    now = health_of(an_experiment(), observed([5, 5], [1, 1]))
    assert (now["novelty"].status, now["novelty"].message) == (
        *("warning", "This could not be checked. The error is in the log."),
    )
    assert {**now, "novelty": None} == {**others, "novelty": None}
    assert "the health check novelty" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_sample_ratio_p_is_scipys_chi_square() -> None:
    check = found("sample_ratio", observed([10_050, 9_890], [1, 1]))
    assert check.status == "ok"
    assert check.details["p_value"] == pytest.approx(stats.chisquare([10_050, 9_890]).pvalue, rel=1e-9)


def test_a_broken_split_alarms_and_names_the_worst_arm() -> None:
    # A split that well-known tools call broken: 821,588 against 815,482 (Fabijan et al., 2019, KDD).
    check = found("sample_ratio", observed([821_588, 815_482], [1, 1]))
    assert check.status == "alarm"
    assert check.details["p_value"] == pytest.approx(1.8e-6, rel=0.05)
    assert "'Control' has 50.2% of visitors instead of 50%" in check.message


def test_uneven_weights_are_the_expected_split() -> None:
    uneven = an_experiment(weights=(9, 1))
    assert found("sample_ratio", observed([9000, 1000], [1, 1]), uneven).status == "ok"
    assert found("sample_ratio", observed([5000, 5000], [1, 1]), uneven).status == "alarm"


def test_an_arm_that_nobody_reaches_is_a_broken_split() -> None:
    assert found("sample_ratio", observed([1000, 0], [1, 0])).status == "alarm"


def test_an_arm_without_weight_is_not_part_of_the_split_and_may_have_no_visitors() -> None:
    experiment = an_experiment(weights=(1, 1, 0))
    clean, wrong = observed([1000, 1010, 0], [1, 1, 0]), observed([1000, 1010, 3], [1, 1, 0])
    assert found("sample_ratio", wrong, experiment).status == "ok"
    assert found("unweighted_arms", clean, experiment).status == "ok"
    alarm = found("unweighted_arms", wrong, experiment)
    assert alarm.status == "alarm"
    assert alarm.details == {"visitors": {"Treatment 2": 3}}


def test_a_few_visitors_have_no_split_to_test() -> None:
    assert found("sample_ratio", observed([3, 1], [0, 0])).status == "not_applicable"


def test_a_split_that_chance_hardly_explains_is_a_warning_and_not_as_planned() -> None:
    # 372² / 20,000 = 6.92, beyond 6.63, the 1% point of chi-square (1).
    visitors = [10_186, 9_814]
    assert stats.chisquare(visitors).pvalue == pytest.approx(0.0085, abs=5e-5)
    check = found("sample_ratio", observed(visitors, [1, 1]))
    assert check.status == "warning"
    assert check.message.startswith("'Control' has 50.9% of visitors instead of 50% (p = 0.0085).")
    assert found("sample_ratio", observed([10_181, 9_819], [1, 1])).status == "ok"


@pytest.mark.parametrize("visitors", [(600, 400), (46, 4), (52_000, 48_000), (200_000, 190_000)])
def test_a_large_fault_alarms_in_small_tests_and_a_small_one_in_large_tests(
    visitors: tuple[int, int],
) -> None:
    assert found("sample_ratio", observed(visitors, [1, 1])).status == "alarm"


def test_daily_looks_at_an_honest_split_alarm_once_in_a_thousand_tests() -> None:
    counts = np.random.default_rng(6).multinomial(1000, [1 / 3] * 3, (28, 4000)).cumsum(axis=0)
    experiment = an_experiment(weights=(1, 1, 1))
    # Only looks that one chi-square test calls a mismatch can be alarms.
    suspicious = stats.chi2.sf(((counts - counts.mean(-1, keepdims=True)) ** 2).sum(-1) / counts.mean(-1), 2)
    looks = np.argwhere(suspicious < SAMPLE_RATIO_ALARM)
    alarms = {
        test
        for day, test in looks.tolist()
        if found("sample_ratio", observed(counts[day, test].tolist(), [0, 0, 0]), experiment).status
        == "alarm"
    }
    # Expected are 4 of 4,000 at most; the chi-square test alone stops 1%.
    assert len(alarms) <= 4
    assert len(set(looks[:, 1].tolist())) > 35


@pytest.mark.parametrize(
    ("aside", "status"), [(0, "ok"), (10, "ok"), (76, "ok"), (400, "warning"), (900, "alarm")]
)
def test_visitors_in_several_variants_alarm_beyond_one_percent(aside: int, status: str) -> None:
    assert (
        found("several_variants", observed([28_806, 28_798], [1, 1], several_variants=aside)).status == status
    )


def test_a_handful_in_several_variants_never_alarms() -> None:
    assert found("several_variants", observed([20, 20], [1, 1], several_variants=9)).status == "ok"


def test_a_running_experiment_without_new_visitors_for_a_day_is_stale() -> None:
    recent: dict[str, Any] = {"last_exposure_at": NOW - timedelta(hours=23)}
    stale: dict[str, Any] = {"last_exposure_at": NOW - timedelta(hours=30)}
    assert found("freshness", observed([9, 9], [1, 1], **recent)).status == "ok"
    assert found("freshness", observed([9, 9], [1, 1], **stale)).status == "warning"
    completed = an_experiment(status="completed")
    assert found("freshness", observed([9, 9], [1, 1], **stale), completed).status == "not_applicable"


@pytest.mark.parametrize(
    ("senders", "advice"),
    [
        ({"import": 18}, "import newer rows"),
        ({"import": 9, "browser": 9}, "loads the snippet"),
        ({"browser and import": 18}, "loads the snippet"),
    ],
)
def test_advice_on_visitors_is_by_where_they_came_from(senders: dict[str, int], advice: str) -> None:
    stale = observed([9, 9], [1, 1], last_exposure_at=NOW - timedelta(hours=30))
    evidence = replace(stale, senders=SenderEvidence(visitors=senders, largest={}))
    assert advice in found("freshness", evidence).message


def test_imported_data_with_a_mismatch_are_fixed_at_their_source() -> None:
    sent = observed([5_000, 4_000], [1, 1])
    imported = replace(sent, senders=SenderEvidence(visitors={"import": 9_000}, largest={}))
    for evidence, advice in ((sent, "scripts that load too late"), (imported, "import the corrected rows")):
        report = analyze(an_experiment(status="running"), evidence, now=NOW)
        assert report.primary is not None
        assert advice in report.primary.decision.next_step


def test_complete_data_are_not_stale() -> None:
    evidence = observed([9, 9], [1, 1], last_exposure_at=NOW - timedelta(days=90))
    report = analyze(an_experiment(status="running"), evidence, now=NOW, is_finished=True)
    (check,) = [check for check in report.health if check.check == "freshness"]
    assert check.status == "not_applicable"


def test_an_experiment_that_nobody_ever_saw_is_stale_after_a_day() -> None:
    assert timedelta(hours=24) < NOW - STARTED
    assert found("freshness", observed([0, 0], [0, 0])).status == "warning"


def test_few_visitors_are_underpowered_and_many_are_not() -> None:
    assert found("underpowered", observed([1000, 1000], [50, 50])).status == "warning"
    assert found("underpowered", observed([100_000, 100_000], [5000, 5000])).status == "ok"
    assert found("underpowered", observed([0, 0], [0, 0])).status == "not_applicable"


def test_detectable_change_is_found_four_times_in_five() -> None:
    n = 20_000
    lift = detectable_change(an_experiment(), observed([n, n], [1000, 1000]))
    assert lift is not None
    rng = np.random.default_rng(3)
    control, variant = rng.binomial(n, 0.05, 20_000), rng.binomial(n, 0.05 * (1 + lift), 20_000)
    pooled = (control + variant) / (2 * n)
    z = (variant - control) / n / np.sqrt(2 * pooled * (1 - pooled) / n)
    # Blinded: without a lift in the data, half of it is expected in their mean, which is a little too much.
    assert 0.79 < np.mean(np.abs(z) > 1.96) < 0.84


def test_detectable_change_of_revenue_needs_its_spread() -> None:
    goals = (a_goal(goal_type="revenue", config={}),)
    paid = Moments(np.full((1, 2), 5000.0), np.full((1, 2), 200.0), np.full((1, 2), 5000 * 900.0**2))
    evidence = observed([5000, 5000], [500, 500], cents=paid)
    # a = (1.96 + 0.84) · 900 · sqrt(2 / 5000) / 200 = 0.2521; a / (1 - a/2), as the mean holds half of it.
    assert detectable_change(an_experiment(goals=goals), evidence) == pytest.approx(0.2885, rel=1e-2)
    # However many of them pay, all of them too.
    everybody = observed([5000, 5000], [5000, 5000], cents=paid)
    assert detectable_change(an_experiment(goals=goals), everybody) == pytest.approx(0.2885, rel=1e-2)
    assert detectable_change(an_experiment(goals=goals), observed([5000, 5000], [500, 500])) is None


def test_missing_days_of_the_week_are_named() -> None:
    check = found("day_of_week_cover", observed([50, 50], [1, 1], days=2))
    assert check.status == "warning"
    assert check.details["missing"] == ["Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def test_a_day_without_visitors_covers_nothing() -> None:
    # Seven days, with visitors on the first and the last.
    check = found("day_of_week_cover", observed([50, 50], [1, 1], days=7))
    assert check.details["days"] == 2
    assert found("day_of_week_cover", observed([50, 50], [1, 1])).status == "not_applicable"
