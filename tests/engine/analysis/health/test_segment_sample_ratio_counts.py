import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from engine.analysis.comparison.plan import plan_analysis
from engine.analysis.evidence.segments import Segment, SegmentVisitors
from engine.analysis.health.segment_sample_ratio import CONCENTRATION, check_splits
from engine.design.reweighting import reweight
from engine.stats.sequential.sample_ratio import check_split
from tests.builders import NOW, an_experiment
from tests.examples import trials


def counted(visitors: object) -> SegmentVisitors:
    rows = np.array(visitors, np.int64)
    return SegmentVisitors(tuple(Segment("os", str(row)) for row in range(len(rows))), rows)


def test_p_values_are_those_of_each_segment_by_itself_and_holms_over_all() -> None:
    rng = np.random.default_rng(1)
    visitors = rng.multinomial(5_000, [0.2, 0.3, 0.5], 40)
    weights = (2, 3, 5)
    splits = check_splits(plan_analysis(an_experiment(weights=weights)), counted(visitors))
    p = [stats.chisquare(row, row.sum() * np.array(weights) / 10).pvalue for row in visitors]
    np.testing.assert_allclose(np.exp(splits.log_p), p, rtol=1e-9)
    np.testing.assert_allclose(np.exp(splits.log_p_adjusted), multipletests(p, method="holm")[1], rtol=1e-9)
    each = [check_split(row, weights, concentrations=(CONCENTRATION,)).log_p for row in visitors]
    np.testing.assert_allclose(splits.log_p_always_valid, each)
    adjusted = multipletests(np.exp(each), method="holm")[1]
    np.testing.assert_allclose(np.exp(splits.log_p_always_valid_adjusted), adjusted)


@pytest.mark.many(seconds=7)
def test_looking_at_every_day_of_a_sound_test_alarms_less_than_promised() -> None:
    # 200 experiments of 10 segments and 28 looks: at 0.001 an alarm in more than 3 has a chance of 0.00006.
    rng = np.random.default_rng(2)
    days = rng.multinomial(400, [0.5, 0.5], (trials(50, 200), 10, 28)).cumsum(axis=2)
    plan = plan_analysis(an_experiment())
    alarmed = [any(check_splits(plan, counted(one[:, day])).alarm.any() for day in range(28)) for one in days]
    assert sum(alarmed) <= 3


def test_a_broken_segment_among_sound_ones_is_found_though_the_whole_looks_sound() -> None:
    sound = np.random.default_rng(3).multinomial(40_000, [0.5, 0.5], 9)
    visitors = np.vstack([sound, [[2_300, 1_900]]])
    splits = check_splits(plan_analysis(an_experiment()), counted(visitors))
    assert np.flatnonzero(splits.alarm).tolist() == [9]
    assert check_split(visitors.sum(axis=0), (1, 1)).log_p > np.log(0.001)


def test_few_visitors_have_no_chi_square_and_nobody_is_no_alarm() -> None:
    splits = check_splits(plan_analysis(an_experiment()), counted([[4, 5], [0, 0], [60, 50]]))
    assert np.isnan(splits.log_p).tolist() == [True, True, False]
    assert splits.log_p_always_valid[1] == pytest.approx(0.0)
    assert not splits.alarm.any()


def test_arms_without_weight_are_no_arms() -> None:
    experiment = an_experiment(weights=(1, 1, 0))
    splits = check_splits(plan_analysis(experiment), counted([[500, 500, 40]]))
    assert np.exp(splits.log_p[0]) == pytest.approx(1.0)


def test_p_too_small_for_a_float_is_still_a_number() -> None:
    splits = check_splits(plan_analysis(an_experiment()), counted([[10**7, 10**6]]))
    assert np.isfinite(splits.log_p).all()
    assert splits.alarm.all()


def test_weights_that_move_and_single_arms_are_not_split_by_weight() -> None:
    assert plan_analysis(an_experiment()).is_split_by_weight
    assert not plan_analysis(an_experiment(traffic_strategy="bandit")).is_split_by_weight
    moved = reweight(an_experiment(status="running"), (1, 3), now=NOW)
    assert not plan_analysis(moved).is_split_by_weight
    assert not plan_analysis(an_experiment(weights=(1,))).is_split_by_weight
    assert not plan_analysis(an_experiment(weights=(1, 0))).is_split_by_weight
    assert not plan_analysis(an_experiment(variants=())).is_split_by_weight
