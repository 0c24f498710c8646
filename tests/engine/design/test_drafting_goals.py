"""Goals of drafts: measures, caps, and outcomes that are known in time."""

from typing import Any

import pytest

from engine.errors import InvalidDesignError
from tests.engine.design.drafts import GOAL, draft, problems_of


@pytest.mark.parametrize(
    ("measure", "field"), [("ratio", "denominator"), ("retained", "from_day"), ("funnel", "steps")]
)
def test_a_measure_needs_its_events_or_days(measure: str, field: str) -> None:
    goal = {**GOAL, "config": {"event_name": "signup", "measure": measure}}
    with pytest.raises(InvalidDesignError) as refused:
        draft({"name": "Test", "goals": [goal]})
    assert [problem.field for problem in refused.value.problems] == [f"goals[0].config.{field}"]


@pytest.mark.parametrize("measure", ["converted", "count", "value"])
def test_a_goal_may_be_measured_by_what_the_service_computes(measure: str) -> None:
    goal = {**GOAL, "config": {"event_name": "signup", "measure": measure}}
    assert draft({"name": "Test", "goals": [goal]}).goals[0].measure.word == measure


def test_only_amounts_have_a_cap() -> None:
    config = {"event_name": "signup", "cap_percentile": 99}
    draft({"name": "Test", "goals": [{**GOAL, "config": {**config, "measure": "count"}}]})
    with pytest.raises(InvalidDesignError) as refused:
        draft({"name": "Test", "goals": [{**GOAL, "config": config}]})
    (problem,) = refused.value.problems
    assert problem.field == "goals[0].config.cap_percentile"


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"window": 43}, "window"),
        ({"measure": "retained", "from_day": 42}, "from_day"),
        ({"measure": "retained", "from_day": 1, "to_day": 42}, "to_day"),
    ],
)
def test_outcomes_after_the_last_day_of_the_plan_need_a_planned_sample(config: Any, key: str) -> None:
    late = {**GOAL, "config": {"event_name": "visit", **config}}
    fields = {"name": "Onboarding", "goals": [late, GOAL]}
    (found,) = problems_of(fields).items()
    assert found[0] == f"goals[0].config.{key}"
    assert "after 43 days" in found[1]
    assert "statistics.planned_sample" in found[1]
    margins: list[dict[str, Any]] = [{"guardrail_margin_percent": 5}, {"guardrail_margin_absolute": 1}]
    guardrails = [{**late, "config": {"event_name": "visit", **config, **margin}} for margin in margins]
    assert [set(problems_of({**fields, "goals": [GOAL, guardrail]})) for guardrail in guardrails] == [
        {f"goals[1].config.{key}"}
    ] * 2
    # A secondary goal decides nothing, and a given sample has no last day.
    assert draft({**fields, "goals": [GOAL, late]}).goals[1].known_after == 43
    planned = draft({**fields, "statistics": {"planned_sample": 10_000}})
    assert planned.goals[0].known_after == 43
    assert set(problems_of({"statistics": {"planned_sample": None}}, planned)) == {f"goals[0].config.{key}"}


def test_outcomes_two_weeks_before_the_last_day_of_the_plan_are_in_time() -> None:
    goal = {**GOAL, "config": {"event_name": "visit", "window": 42}}
    assert draft({"name": "Onboarding", "goals": [goal]}).goals[0].known_after == 42
