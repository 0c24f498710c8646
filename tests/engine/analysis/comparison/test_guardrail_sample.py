from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.sample_plan import SamplePlan
from engine.design.analysis_settings import Statistics
from engine.stats.moments import Moments
from tests.builders import a_goal, an_experiment
from tests.observations import observed

VISITORS = 10_000


def plan_of(
    *configs: dict[str, Any], hits: int = 1_000, weights: tuple[int, ...] = (1, 1), **statistics: Any
) -> SamplePlan:
    """Plan for a primary goal and guardrails, which `hits` of the visitors of each variant do."""
    guardrails = [
        a_goal(id=f"goal_{place}", name=f"G{place}", is_primary=False, config={"event_name": "x", **config})
        for place, config in enumerate(configs, 2)
    ]
    experiment = an_experiment(
        weights=weights,
        goals=(a_goal(), *guardrails),
        statistics=Statistics(**{"guardrails": "non_inferior", **statistics}),
    )
    rows = [[hits * weight for weight in weights]] * (1 + len(configs))
    return prepare(experiment, observed([VISITORS * weight for weight in weights], rows, days=3)).sample


# Schultzberg, Ankargren and Frånberg (2024) divide beta by G + 1: with 1.96 and 80% the sample of the primary
# goal grows by ((1.96 + z) / 2.8016)², z = 1.2816 and 1.6449: 1.34 and 1.66.
@pytest.mark.parametrize(("guardrails", "factor"), [(1, 1.339), (3, 1.656)])
def test_power_is_shared_among_the_primary_goal_and_its_guardrails(guardrails: int, factor: float) -> None:
    configs = [{"guardrail_margin_percent": 50}] * guardrails
    shared, plain = plan_of(*configs), plan_of(*configs, guardrails="not_harmed")
    assert (shared.required_visitors or 0) / (plain.required_visitors or 1) == pytest.approx(factor, abs=2e-3)
    assert shared.planned_guardrail_power == pytest.approx(1 - 0.2 / (guardrails + 1))
    # What the plan finds is said of 80% power as ever, so that it is less than the minimum effect.
    assert plain.detectable_effect == pytest.approx(0.1, rel=1e-3)
    assert (shared.detectable_effect or 1) < 0.09


def test_a_narrow_margin_needs_the_larger_sample() -> None:
    sample = plan_of({"guardrail_margin_percent": 4})
    drift = stats.norm.isf(0.05) + stats.norm.isf(0.1)
    assert sample.required_visitors == pytest.approx(drift**2 * 0.9 / 0.1 * 4 / 0.04**2, rel=1e-4)
    assert sample.guardrail_power[1] == pytest.approx(0.9, abs=1e-4)
    assert np.isnan(sample.guardrail_power[0])
    assert not sample.is_guardrail_underpowered.any()


def test_a_goal_to_be_lowered_has_the_larger_variance_of_a_control_that_rose_by_the_margin() -> None:
    sample = plan_of({"guardrail_margin_percent": 4, "direction": "decrease"}, weights=(3, 1))
    drift = stats.norm.isf(0.05) + stats.norm.isf(0.1)
    shares = 1.04**2 / 0.75 + 1 / 0.25
    assert sample.required_visitors == pytest.approx(drift**2 * 0.9 / 0.1 * shares / 0.04**2, rel=1e-4)


def test_an_absolute_margin_is_in_the_unit_of_the_goal() -> None:
    by_points = plan_of({"guardrail_margin_absolute": 0.4})
    assert by_points.required_visitors == plan_of({"guardrail_margin_percent": 4}).required_visitors


def test_a_given_sample_that_is_too_small_says_its_power() -> None:
    sample = plan_of({"guardrail_margin_percent": 4}, planned_sample=40_000)
    error = np.sqrt(0.1 * 0.9 * 4 / 40_000)
    assert sample.guardrail_power[1] == pytest.approx(
        stats.norm.sf(stats.norm.isf(0.05) - 0.004 / error), abs=1e-3
    )
    assert sample.is_guardrail_underpowered.tolist() == [False, True]


def test_what_cannot_be_planned_for_leaves_the_last_day() -> None:
    assert plan_of({"guardrail_margin_percent": 4}, hits=0).required_visitors is None


@pytest.mark.parametrize(("mean", "is_planned"), [(-100.0, False), (100.0, True)])
def test_a_mean_below_0_plans_nothing_by_a_percentage(mean: float, is_planned: bool) -> None:  # noqa: FBT001
    profit = a_goal(
        id="goal_2",
        goal_type="revenue",
        name="Profit",
        is_primary=False,
        config={"guardrail_margin_percent": 4},
    )
    experiment = an_experiment(goals=(a_goal(), profit), statistics=Statistics(guardrails="non_inferior"))
    n = np.full((2, 2), 10_000.0)
    cents = Moments(n, np.full((2, 2), mean), n * 500.0**2)
    evidence = observed([10_000] * 2, [[1_000] * 2, [1_000] * 2], cents=cents, days=9)
    sample = prepare(experiment, evidence).sample
    drift = stats.norm.isf(0.05) + stats.norm.isf(0.1)
    needed = drift**2 * 500.0**2 * 4 / 4.0**2
    assert ((sample.required_visitors or 0) > 0.99 * needed) == is_planned


def test_without_variants_to_compare_there_is_no_sample() -> None:
    guardrail = a_goal(
        id="goal_2", is_primary=False, config={"event_name": "x", "guardrail_margin_percent": 4}
    )
    experiment = an_experiment(
        weights=(), goals=(a_goal(), guardrail), statistics=Statistics(guardrails="non_inferior")
    )
    sample = prepare(experiment, observed([], [[], []])).sample
    assert sample.required_visitors is None
    assert np.isnan(sample.guardrail_power).all()
