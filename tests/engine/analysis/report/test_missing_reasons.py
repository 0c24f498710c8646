from typing import Any

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.analysis.report.missing_reasons import LARGEST_EXACT, missing_reasons
from engine.design.analysis_settings import Statistics
from engine.stats.moments import Moments, are_constant
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed


def reasons(visitors: list[int], conversions: list[int], **fields: object) -> list[list[str | None]]:
    data = prepare(an_experiment(weights=(1,) * len(visitors), **fields), observed(visitors, conversions))
    return missing_reasons(data, assess_significance(data))


def test_the_control_never_has_a_reason_and_a_complete_comparison_has_none() -> None:
    assert reasons([1000, 1000], [100, 120]) == [[None, None]]
    assert reasons([0, 0], [0, 0]) == [[None, "'Control' has no visitors yet"]]


def test_a_winner_that_does_not_lead_names_the_leader() -> None:
    found = reasons([20_000] * 3, [2000, 2400, 2600])
    assert found == [[None, "it beats 'Control' too, but 'Treatment 2' does better", None]]


def test_unequal_arms_of_a_bayesian_test_say_how_many_conversions_they_need() -> None:
    # In the small arm, one of a thousand visitors, a prior's conversion weighs a thousand times as much.
    found = reasons([100_000, 100], [10, 0], analysis_method="bayesian")
    assert found[0][1] == "'Control' and 'Treatment 1' together have 10 of the 5,000 conversions required"


def test_a_variant_without_conversions_is_compared_under_a_prior_on_the_lift() -> None:
    fields = {"analysis_method": "bayesian", "statistics": Statistics(prior="lift")}
    assert reasons([1000, 1000], [30, 0], **fields) == [[None, None]]
    assert reasons([1000, 1000], [0, 30], **fields) == [
        [None, "'Control' has no conversions, so there is no relative change"]
    ]


@pytest.mark.parametrize("prior", [None, "flat", "lift"])
def test_negative_revenue_of_the_control_is_the_reason_for_no_relative_change(prior: str | None) -> None:
    fields: dict[str, Any] = {"goals": (a_goal(goal_type="revenue"),)}
    if prior is not None:
        fields |= {"analysis_method": "bayesian", "statistics": Statistics(prior=prior)}  # type: ignore[arg-type]
    n, paying = [5000, 5000], [500, 500]
    # Cents per visitor: more is refunded than bought with the control; their deviation is 500 cents.
    cents = Moments(np.full((1, 2), 5000.0), np.array([[-30.0, 339.0]]), np.full((1, 2), 4999 * 500.0**2))
    report = analyze(an_experiment(**fields), observed(n, paying, cents=cents, days=14), now=NOW).goals[0]
    variant = report.variants[1]
    assert variant.reason == "the revenue of 'Control' is negative, so there is no relative change"
    assert variant.status == "winner"
    assert variant.improvement is None
    assert variant.improvement_interval is None
    assert variant.details.revenue.improvement is None
    assert variant.compared.absolute_difference == pytest.approx(369.0)
    assert variant.chance_to_beat == pytest.approx(1.0)
    assert report.decision.explanation.startswith(
        "'Treatment 1' brought 3.39 USD per visitor, and 'Control' \N{MINUS SIGN}0.30 USD: a difference of"
        " +3.69 USD."
    )
    assert "%" not in report.decision.headline


def test_without_any_variant_there_is_no_reason_to_give() -> None:
    data = prepare(an_experiment(variants=()), observed([], [[]]))
    assert missing_reasons(data, assess_significance(data)) == [[]]


def _values_reason(control: float, variant: float) -> str | None:
    """Give the reason of 300 equal values in each arm."""
    values = np.array([[control, variant]])
    moments = Moments(np.full((1, 2), 300.0), values, np.zeros((1, 2)))
    goal = a_goal(config={"event_name": "time", "measure": "value"})
    evidence = observed([300] * 2, [300] * 2, values=VisitorValues.of(moments))
    data = prepare(an_experiment(goals=(goal,), weights=(1, 1)), evidence)
    return missing_reasons(data, assess_significance(data))[0][1]


def test_values_that_do_not_vary_are_named() -> None:
    assert _values_reason(3.0, 4.0) == (
        "no value varies: all visitors have 3 with 'Control' and 4 with 'Treatment 1', so no test is possible"
    )


def test_values_whose_differences_are_rounded_away_are_not_called_equal() -> None:
    reason = _values_reason(1e15, 1e15)
    assert reason is not None
    assert reason.startswith("the values are too large for their differences to be told: 1,000,000,")
    # The smallest of those values: at 1e12, a deviation of 1 is a variance of 1.
    assert not are_constant(np.array([2.0]), np.array([LARGEST_EXACT]), np.array([2.0])).any()


def test_few_known_outcomes_are_not_few_visitors() -> None:
    evidence = observed([1000] * 2, [5, 5], observed=np.array([[40, 1000]]))
    data = prepare(an_experiment(weights=(1, 1)), evidence)
    found = missing_reasons(data, assess_significance(data))[0][1]
    assert found == "'Control' has 40 of the 100 known outcomes required"
