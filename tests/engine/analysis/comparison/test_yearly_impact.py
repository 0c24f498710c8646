from typing import Any

import numpy as np
import pytest

from engine.analysis.comparison.analysis_data import AnalysisData, prepare
from engine.analysis.comparison.yearly_impact import Selection, yearly_impact
from engine.stats.moments import Moments
from tests.builders import a_goal, an_experiment
from tests.observations import observed

# 20,000 visitors in 10 days are 730,000 a year; 100 cents of each, with a standard error of 20.
YEARLY, ERROR = 73_000_000, 20 * 730_000


def data_of(goal_type: str = "revenue", **fields: Any) -> AnalysisData:
    n = np.full((1, 2), 10_000.0)
    moments = Moments(n, np.array([[500.0, 600.0]]), (n - 1) * 2_000_000.0)
    config = {} if goal_type == "revenue" else {"event_name": "purchase"}
    goals = (a_goal(goal_type=goal_type, config=config),)
    return prepare(
        an_experiment(goals=goals, **fields),
        observed([10_000] * 2, [5_000, 6_000], cents=moments, days=10),
    )


def test_impact_is_that_of_every_eligible_visitor_with_its_interval() -> None:
    found = yearly_impact(data_of(), 0, 1, None)
    assert found is not None
    assert found.estimate == pytest.approx(YEARLY)
    assert (found.low, found.high) == pytest.approx((YEARLY - 1.96 * ERROR, YEARLY + 1.96 * ERROR), rel=1e-4)
    assert not found.is_shrunk
    half = yearly_impact(data_of(traffic_allocation=50), 0, 1, None)
    assert half is not None
    assert half.estimate == pytest.approx(2 * YEARLY)


def test_a_selected_variant_is_shrunk_towards_nothing() -> None:
    plain = yearly_impact(data_of(), 0, 1, None)
    barely = yearly_impact(data_of(), 0, 1, Selection(z=5.0, critical=4.5))
    amply = yearly_impact(data_of(), 0, 1, Selection(z=5.0, critical=2.0))
    assert plain is not None
    assert barely is not None
    assert amply is not None
    assert 0 < barely.estimate < amply.estimate < plain.estimate
    assert barely.is_shrunk
    assert barely.low < amply.low < barely.estimate


def test_revenue_beside_a_goal_of_conversions_is_corrected_by_its_correlation() -> None:
    selection = Selection(z=3.0, critical=2.8)
    beside, itself = (yearly_impact(data_of(kind), 0, 1, selection) for kind in ("custom_event", "revenue"))
    assert beside is not None
    assert itself is not None
    assert itself.estimate < beside.estimate < YEARLY
    assert beside.low < beside.estimate < beside.high


def test_nothing_is_known_without_days_or_spread() -> None:
    goals = (a_goal(goal_type="revenue", config={}),)
    without_days = prepare(an_experiment(goals=goals), observed([1_000] * 2, [50, 60]))
    assert yearly_impact(without_days, 0, 1, None) is None
    fixed = prepare(an_experiment(goals=goals), observed([1_000] * 2, [50, 60], days=10))
    assert yearly_impact(fixed, 0, 1, None) is None
