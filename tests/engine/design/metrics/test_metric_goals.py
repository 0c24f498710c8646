"""Goals that a metric defines: filled in, followed until the start, and fixed from then on."""

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import count
from typing import Any

import pytest

from engine.design import lifecycle
from engine.design.drafting import draft_experiment, revise_experiment
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.metrics.metric import Metric, revise_metric
from engine.design.metrics.metric_goals import following, require_following, uses
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, a_project

ORDERS = Metric(
    id="met_1",
    project_id="prj_1",
    name="Orders",
    goal_type="custom_event",
    config={"event_name": "order", "minimum_effect_percent": 5},
    created_at=NOW,
    updated_at=NOW,
)
PAID = revise_metric(
    ORDERS, {"config": {"event_name": "paid", "direction": "decrease", "minimum_effect_percent": 4}}, now=NOW
)
VARIANTS = [{"name": "A"}, {"name": "B"}]


def numbered() -> Callable[[str], str]:
    numbers = count(1)
    return lambda prefix: f"{prefix}_{next(numbers)}"


def drafted(*goals: Any, metric: Metric = ORDERS) -> Experiment:
    return draft_experiment(
        {"name": "Test", "variants": VARIANTS, "goals": list(goals)},
        id="exp_1",
        project=a_project(),
        now=NOW,
        new_id=numbered(),
        metrics={metric.id: metric},
    )


def revised(experiment: Experiment, *goals: Any, metric: Metric = ORDERS) -> Goal:
    found = revise_experiment(
        experiment, {"goals": list(goals)}, now=NOW, new_id=numbered(), metrics={metric.id: metric}
    )
    return found.goals[0]


def fields_refused(*goals: Any) -> set[str]:
    with pytest.raises(InvalidDesignError) as error:
        drafted(*goals)
    return {problem.field for problem in error.value.problems}


def test_a_goal_takes_all_from_its_metric() -> None:
    (goal,) = drafted({"metric_id": "met_1"}).goals
    assert (goal.name, goal.goal_type, goal.config) == ("Orders", "custom_event", ORDERS.config)
    assert (goal.metric_id, goal.metric_version) == ("met_1", 1)


def test_a_goal_has_its_own_name_and_role_and_nothing_else() -> None:
    own = {"minimum_effect_percent": 2, "event_name": "order"}
    (goal,) = drafted({"metric_id": "met_1", "name": "Bought", "config": own}).goals
    assert (goal.name, goal.config) == ("Bought", own)
    sent = {"metric_id": "met_1", "goal_type": "revenue", "config": {"event_name": "x", "evnt": 1}}
    assert fields_refused(sent) == {
        "goals[0].goal_type",
        "goals[0].config.event_name",
        "goals[0].config.evnt",
    }
    # Its default is not what is sent.
    assert fields_refused({"metric_id": "met_1", "config": {"direction": "decrease"}}) == {
        "goals[0].config.direction"
    }


def test_a_metric_that_is_not_the_projects_is_refused() -> None:
    assert fields_refused({"metric_id": "met_2", "name": "Orders"}) >= {"goals[0].metric_id"}
    assert fields_refused({"metric_id": 5, "name": "Orders"}) >= {"goals[0].metric_id"}


def test_what_was_read_can_be_sent_back_and_copied() -> None:
    experiment = drafted({"metric_id": "met_1"})
    (goal,) = experiment.goals
    read = asdict(goal)
    assert revised(experiment, read) == goal
    copied = drafted(read, metric=PAID).goals[0]
    assert (copied.tracking["event_name"], copied.metric_version) == ("paid", 2)


def test_a_copy_of_an_older_version_keeps_the_minimum_effect_that_is_sent() -> None:
    (goal,) = drafted({"metric_id": "met_1"}).goals
    read = asdict(goal)
    assert drafted(read, metric=PAID).goals[0].config == {**PAID.config, "minimum_effect_percent": 5}
    without = {key: value for key, value in read["config"].items() if key != "minimum_effect_percent"}
    assert drafted({**read, "config": without}, metric=PAID).goals[0].config == PAID.config


def test_a_goal_is_attached_and_detached() -> None:
    own = {"name": "Clicks", "goal_type": "click", "config": {"selector": "#buy"}}
    experiment = drafted(own)
    attached = revised(experiment, {"id": experiment.goals[0].id, "metric_id": "met_1"})
    assert (attached.name, attached.config, attached.metric_version) == ("Clicks", ORDERS.config, 1)
    detached = revised(replace(experiment, goals=(attached,)), {"id": attached.id, "metric_id": None})
    assert (detached.config, detached.metric_id, detached.metric_version) == (ORDERS.config, None, None)


def test_drafts_follow_with_what_is_their_own() -> None:
    follows = drafted({"metric_id": "met_1"})
    has_own = drafted({"metric_id": "met_1", "config": {"minimum_effect_percent": 2}})
    assert following(follows, ORDERS, PAID, now=NOW).goals[0].config == PAID.config
    changed = following(has_own, ORDERS, PAID, now=NOW).goals[0]
    assert changed.config == {**PAID.config, "minimum_effect_percent": 2}
    assert changed.metric_version == 2
    other = drafted({"name": "Orders", "goal_type": "custom_event", "config": {"event_name": "order"}})
    assert following(other, ORDERS, PAID, now=NOW) is other
    assert (uses(follows, "met_1"), uses(other, "met_1")) == (True, False)


def test_a_version_that_a_draft_cannot_have_is_refused_with_its_name() -> None:
    guardrail = revise_metric(ORDERS, {"config": {"event_name": "o", "guardrail_margin_percent": 1}}, now=NOW)
    with pytest.raises(InvalidDesignError, match="the draft experiment 'Test': a guardrail can't be"):
        require_following(drafted({"metric_id": "met_1"}), ORDERS, guardrail, now=NOW)


def test_a_started_goal_keeps_its_version() -> None:
    paused = lifecycle.pause(
        lifecycle.start(drafted({"metric_id": "met_1"}, {"metric_id": "met_1", "name": "Again"}), now=NOW),
        now=NOW,
    )
    read = [asdict(goal) for goal in paused.goals]
    # The metric has changed, or is gone.
    assert revised(paused, *read, metric=PAID) == paused.goals[0]
    assert revised(paused, *read, {"metric_id": "met_1", "name": "New"}, metric=PAID) == paused.goals[0]
    for change in (
        {"config": {**ORDERS.config, "event_name": "paid"}},
        {"metric_id": None},
        {"goal_type": "revenue"},
    ):
        with pytest.raises(TransitionError) as error:
            revised(paused, read[0], {**read[1], **change})
        assert {problem.field for problem in error.value.problems} == {f"goals[1].{next(iter(change))}"}
