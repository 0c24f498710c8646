"""How verdicts change with the experiment's statistics, and that intervals go along."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import AnalysisData, prepare
from engine.analysis.comparison.significance import Significance, assess_significance
from engine.analysis.comparison.significance_level import decision_threshold
from engine.design.analysis_settings import Statistics
from tests.builders import NOW, an_experiment
from tests.examples import examples
from tests.observations import observed

COUNTS = st.lists(st.integers(850, 1180), min_size=2, max_size=6)


def judged(conversions: list[int], *, visitors: int = 10_000, **statistics: Any) -> Significance:
    return assess_significance(data_of(conversions, visitors=visitors, **statistics))


def data_of(conversions: list[int], *, visitors: int = 10_000, **statistics: Any) -> AnalysisData:
    experiment = an_experiment(weights=(1,) * len(conversions), statistics=Statistics(**statistics))
    return prepare(experiment, observed([visitors] * len(conversions), conversions))


def winners(judgement: Significance) -> list[int]:
    return np.flatnonzero(judgement.status[0] == "winner").tolist()


@given(COUNTS, st.sampled_from(["bonferroni", "holm", "dunnett"]))
def test_interval_leaves_out_zero_exactly_where_the_adjusted_p_decides(
    conversions: list[int], correction: str
) -> None:
    found = judged(conversions, correction=correction)
    alpha = data_of(conversions, correction=correction).plan.decision_alpha
    significant = found.effects.log_p <= np.log(alpha)
    with np.errstate(invalid="ignore"):
        leaves_out = (found.effects.low > 0) | (found.effects.high < 0)
    assert (significant == leaves_out).all()


@examples(6, 200, seconds=20)
@given(COUNTS)
def test_always_valid_interval_leaves_out_zero_exactly_where_its_p_decides(conversions: list[int]) -> None:
    found = judged(conversions, sequential="always_valid")
    leaves_out = (found.effects.low > 0) | (found.effects.high < 0)
    alpha = data_of(conversions, sequential="always_valid").plan.decision_alpha
    assert ((found.effects.log_p <= np.log(alpha)) == leaves_out).all()


def test_holm_lets_a_second_variant_win_where_bonferroni_does_not() -> None:
    # p from statsmodels' proportions_ztest: 0.00017 and 0.0396, so 0.0396 is within 5% but not within 2.5%.
    conversions = [1000, 1165, 1089]
    assert winners(judged(conversions)) == [1]
    assert winners(judged(conversions, correction="holm")) == [1, 2]


def test_holm_gives_the_later_variants_nothing_once_an_earlier_one_fails() -> None:
    found = judged([1000, 1089, 1089], correction="holm")
    assert winners(found) == []
    assert found.interval_levels[0, 1:] == pytest.approx(0.975)


def test_dunnett_asks_for_the_tabled_critical_value() -> None:
    found = judged([1000, 1000, 1000, 1000], visitors=10**6, correction="dunnett")
    # Two-sided, 5%, three comparisons with a control, infinite degrees of freedom: 2.35 in Dunnett (1964),
    # "New tables for multiple comparisons with a control", Biometrics 20, table II; it means p = 0.0188.
    assert 1 - found.interval_levels[0, 1] == pytest.approx(0.0188, abs=3e-4)


@pytest.mark.parametrize(
    ("statistics", "threshold"),
    [(Statistics(), 0.975), (Statistics(correction="holm"), 0.95), (Statistics(correction="dunnett"), 0.95)],
)
def test_adjusted_scores_are_held_against_the_level_itself(statistics: Statistics, threshold: float) -> None:
    experiment = an_experiment(weights=(1, 1, 1), statistics=statistics)
    assert decision_threshold(experiment) == pytest.approx(threshold)
    report = analyze(experiment, observed([10_000] * 3, [1000, 1165, 1089]), now=NOW)
    first = report.goals[0].variants[1]
    assert report.effective_confidence_threshold == pytest.approx(threshold)
    assert first.compared.score_value == first.compared.confidence
    assert first.p_value == pytest.approx(1 - (first.compared.confidence or 0))


def test_nothing_that_varies_is_adjusted_without_a_fuss() -> None:
    found = judged([0, 0, 0], correction="dunnett")
    assert found.effects.log_p[0, 1:].tolist() == [0.0, 0.0]


def test_looking_at_any_time_asks_for_more_than_one_look() -> None:
    assert winners(judged([1000, 1100])) == [1]
    assert winners(judged([1000, 1100], sequential="always_valid")) == []
    assert winners(judged([1000, 1150], sequential="always_valid")) == [1]


def test_looking_at_any_time_waits_for_25_expected_conversions_and_says_so() -> None:
    experiment = an_experiment(statistics=Statistics(sequential="always_valid"))
    report = analyze(experiment, observed([10_000, 10_000], [8, 40]), now=NOW)
    variant = report.goals[0].variants[1]
    assert (variant.status, variant.p_value, variant.improvement_interval) == (
        "insufficient_data",
        None,
        None,
    )
    assert variant.reason == (
        "continuous monitoring requires 25 visitors who convert and 25 who do not in each variant; one has 24"
    )


def test_both_intervals_are_the_same_where_one_may_look_at_any_time() -> None:
    experiment = an_experiment(statistics=Statistics(sequential="always_valid"))
    variant = analyze(experiment, observed([10_000, 10_000], [500, 640]), now=NOW).goals[0].variants[1]
    assert variant.improvement_interval == variant.compared.sequential_interval


def test_interval_is_tighter_the_nearer_the_planned_sample() -> None:
    def width(planned: int | None) -> float:
        experiment = an_experiment(statistics=Statistics(planned_sample=planned))
        report = analyze(experiment, observed([50_000, 50_000], [2500, 2600]), now=NOW)
        interval = report.goals[0].variants[1].compared.sequential_interval
        assert interval is not None
        return (interval.high or 0) - (interval.low or 0)

    assert width(100_000) < width(300_000) < width(10_000_000)
    # A plan that was passed without a record counts as reached at this look: also the one of 10%.
    assert width(1000) == width(100_000) == width(None)
