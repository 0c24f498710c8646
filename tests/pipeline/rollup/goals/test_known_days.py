"""Days on which outcomes are known."""

from datetime import UTC, datetime, timedelta

import pytest

from engine.local_days import epoch_days, epoch_microseconds, from_epoch_microseconds, local_days
from pipeline.rollup.counting_rules import DAY_US
from pipeline.rollup.goals.known_days import last_days, observed_until
from tests.builders import a_goal, an_experiment

GOAL = a_goal(config={"event_name": "open", "measure": "retained", "from_day": 2, "to_day": 3})
EXPERIMENT = an_experiment(goals=(a_goal(id="goal_0", is_primary=False), GOAL))
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("timezone", ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"])
def test_the_days_of_every_visitor_up_to_the_last_one_are_over(timezone: str) -> None:
    for hour in range(0, 24 * 40, 5):
        as_of = MARCH + timedelta(hours=hour)
        ((place, last),) = last_days(EXPERIMENT, ["goal_0", GOAL.id], as_of, timezone).items()
        assert place == 1
        until = observed_until(EXPERIMENT, as_of, timezone)[GOAL.id]
        assert local_days([until - 1, until], timezone).tolist() == [last, last + 1]
        # The latest visitor has seen the end of the days, and few have waited for two days in vain.
        over = from_epoch_microseconds(until - 1 + (GOAL.known_after or 0) * DAY_US)
        assert as_of - timedelta(days=1, hours=4) < over <= as_of


def test_nothing_is_known_of_days_after_the_end() -> None:
    ended = an_experiment(goals=EXPERIMENT.goals, status="completed", completed_at=MARCH + timedelta(days=20))
    known = last_days(ended, [GOAL.id], MARCH + timedelta(days=90), "UTC")
    assert known == {0: epoch_days(MARCH.date()) + 14}
    assert last_days(EXPERIMENT, ["goal_0"], MARCH, "UTC") == {}
    assert (
        epoch_microseconds(MARCH)
        == observed_until(EXPERIMENT, MARCH + timedelta(days=4, hours=2), "UTC")[GOAL.id]
    )
