"""Days of a goal are those of the evidence, and are made when they are asked for."""

from datetime import date
from unittest.mock import patch

import numpy as np

from engine.analysis.evidence.evidence import DailyEvidence
from engine.analysis.report import goal_days
from engine.analysis.report.goal_days import GoalDays
from engine.analysis.results.report import DayResult
from engine.display.plain_data import plain_data

DAYS = (date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3))
DAILY = DailyEvidence(
    days=DAYS,
    visitors=np.array([[40, 50], [0, 10], [4, 0]]),
    # Days by goals by variants.
    conversions=np.array([[[1, 2], [4, 5]], [[0, 0], [0, 1]], [[0, 0], [1, 0]]]),
    revenue_cents=np.array([[[0, 0], [200, 0]], [[0, 0], [70, 0]], [[0, 0], [0, 0]]]),
    amounts=np.array([[[np.nan] * 2, [6.0, 7.5]], [[np.nan] * 2, [0.0, 1.0]], [[np.nan] * 2, [1.0, 0.0]]]),
)
FIRST = {
    "a": DayResult(
        visitors=40,
        conversions=4,
        conversion_rate=0.1,
        revenue_cents=200,
        revenue_per_visitor_cents=5.0,
        amount=6.0,
    ),
    "b": DayResult(
        visitors=50,
        conversions=5,
        conversion_rate=0.1,
        revenue_cents=0,
        revenue_per_visitor_cents=0.0,
        amount=7.5,
    ),
}


def test_a_day_has_the_counts_of_its_goal_and_rates_of_the_visitors_there_are() -> None:
    days = GoalDays(DAILY, 1, ("a", "b"))
    assert days[0] == (DAYS[0], FIRST)
    assert [(day, by_id["a"].conversion_rate) for day, by_id in days[1:]] == [(DAYS[1], 0.0), (DAYS[2], 0.25)]
    assert GoalDays(DAILY, 0, ("a", "b"))[0][1]["a"].amount is None


def test_days_are_a_sequence_like_any_other() -> None:
    days = GoalDays(DAILY, 1, ("a", "b"))
    assert (len(days), days[-1]) == (3, days[2])
    assert days == tuple(days)
    assert days != GoalDays(DAILY, 0, ("a", "b"))
    assert repr(days) == repr(tuple(days))
    assert plain_data(days) == plain_data(tuple(days))


def test_only_days_that_are_asked_for_are_made() -> None:
    with patch.object(goal_days, "DayResult", wraps=DayResult) as made:
        days = GoalDays(DAILY, 1, ("a", "b"))
        assert len(days) == 3
        assert made.call_count == 0
        days[1]
        assert made.call_count == 2
