from datetime import timedelta
from typing import Any

import pytest

from engine.analysis.automation.early_stopping import early_winner, waits_for_outcomes
from tests.builders import NOW, STARTED, a_goal, an_experiment
from tests.observations import observed


def test_a_win_at_every_look_stops_and_one_at_a_single_look_does_not() -> None:
    experiment = an_experiment(status="running")
    now = STARTED + timedelta(days=8)
    winner = early_winner(experiment, observed([5_000, 5_000], [500, 650]), now=now)
    assert winner is not None
    assert winner.id == "var_1"
    assert early_winner(experiment, observed([5_000, 5_000], [500, 570]), now=now) is None


def test_no_winner_stops_a_test_in_its_first_week() -> None:
    experiment, evidence = an_experiment(status="running"), observed([5_000, 5_000], [500, 650])
    assert early_winner(experiment, evidence, now=STARTED + timedelta(days=6)) is None


def test_a_sample_ratio_mismatch_stops_nothing() -> None:
    experiment = an_experiment(status="running")
    assert early_winner(experiment, observed([5_000, 6_000], [500, 900]), now=NOW) is None


@pytest.mark.parametrize(
    ("margin", "waits"),
    [({}, False), ({"guardrail_margin_percent": 5}, True), ({"guardrail_margin_absolute": 1}, True)],
)
def test_a_stop_waits_for_the_outcomes_of_a_guardrail_of_either_margin(
    margin: dict[str, Any], *, waits: bool
) -> None:
    config = {"event_name": "visit", "measure": "retained", "from_day": 14, **margin}
    returned = a_goal(id="goal_2", is_primary=False, config=config)
    assert waits_for_outcomes(an_experiment(goals=(a_goal(), returned))) is waits
