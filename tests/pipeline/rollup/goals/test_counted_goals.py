"""Goals that events are counted for."""

from typing import Any

import pytest

from engine.design.goal import Goal
from pipeline.rollup.goals.counted_goals import counted_goals, denominator_of, steps_before
from tests.builders import a_goal, an_experiment

BUY: dict[str, Any] = {"event_name": "buy", "measure": "ratio"}


def of_ratio(denominator: dict[str, Any], **more: Any) -> Goal:
    return a_goal(config={**BUY, **more, "denominator": denominator})


def test_each_denominator_follows_its_goal() -> None:
    plain = a_goal(id="goal_2", name="Other", is_primary=False)
    experiment = an_experiment(goals=(of_ratio({"event_name": "view"}), plain))
    found = [
        (one.experiment, one.place, one.is_denominator, one.has_denominator)
        for one in counted_goals([experiment, experiment])
    ]
    of_one = [(0, False, True), (0, True, False), (1, False, False)]
    assert found == [(number, *rest) for number in (0, 1) for rest in of_one]


@pytest.mark.parametrize(
    ("denominator", "is_same"),
    [
        ({"event_name": "buy"}, True),
        ({"event_name": "buy", "measure": "value"}, True),
        ({"event_name": "view"}, False),
        ({"goal_type": "ga4_event", "event_name": "buy"}, False),
        ({"goal_type": "pageview", "url": "/"}, False),
    ],
)
def test_conversions_by_id_are_of_a_denominator_of_the_same_events(
    denominator: dict[str, Any], *, is_same: bool
) -> None:
    goal = of_ratio(denominator, window=3)
    found = denominator_of(goal)
    assert found is not None
    assert (found.id == goal.id) == is_same
    assert found.measure.word == denominator.get("measure", "count")
    assert found.tracking["window"] == 3


def test_other_goals_have_no_denominator() -> None:
    assert denominator_of(a_goal()) is None


def test_steps_of_a_funnel_are_goals_at_its_place_and_its_window() -> None:
    steps = [{"event_name": "cart"}, {"goal_type": "pageview", "url": "/"}]
    config = {"event_name": "buy", "measure": "funnel", "window": 3, "steps": steps}
    goal = a_goal(config=config)
    found = counted_goals([an_experiment(goals=(goal,))])
    assert [(one.place, one.step, one.last_step) for one in found] == [(0, 2, 2), (0, 0, 2), (0, 1, 2)]
    assert found[0].goal is goal
    assert [(one.goal_type, one.tracking["window"]) for one in steps_before(goal)] == [
        ("custom_event", 3),
        ("pageview", 3),
    ]
    assert goal.id not in {one.id for one in steps_before(goal)}
