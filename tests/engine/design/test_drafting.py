"""Experiments drafted from input, or every reason against it."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.drafting import (
    WRITABLE_FIELDS,
    draft_experiment,
    revise_experiment,
    slug_of,
    wanted_test_key,
)
from engine.design.experiment import Experiment
from engine.design.targeting.rules import EVERYONE
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, STARTED, a_project, an_experiment
from tests.examples import examples

GOAL = {"name": "Signup", "goal_type": "custom_event", "config": {"event_name": "signup"}}


def numbered_ids(kind: str = "") -> Callable[[str], str]:
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}_{kind}{next(numbers)}"


def draft(fields: Any, *, test_key: str | None = None) -> Experiment:
    return draft_experiment(
        fields, id="exp_1", project=a_project(), now=NOW, new_id=numbered_ids(), test_key=test_key
    )


def revise(experiment: Experiment, fields: Any) -> Experiment:
    return revise_experiment(experiment, fields, now=NOW, new_id=numbered_ids("new"))


def problems_of(fields: Any, revised: Experiment | None = None) -> dict[str, str]:
    with pytest.raises(InvalidDesignError) as error:
        draft(fields) if revised is None else revise(revised, fields)
    return {problem.field: problem.message for problem in error.value.problems}


def test_a_name_is_enough() -> None:
    experiment = draft({"name": "Checkout button"})
    # The defaults of the contract's decisions on creation.
    expected = {
        "name": "Checkout button",
        "test_key": "checkout-button",
        "project_id": "prj_1",
        "salt": "exp_1",
        "status": "draft",
        "type": "visual",
        "url": "https://shop.example",
        "url_match_type": "exact",
        "trigger": "direct",
        "traffic_allocation": 100,
        "traffic_strategy": "fixed",
        "confidence_level": 95,
        "analysis_method": "frequentist",
        "targeting_rules": EVERYONE,
        "variants": (),
        "goals": (),
        "created_at": NOW,
        "updated_at": NOW,
    }
    assert {name: getattr(experiment, name) for name in expected} == expected


def test_every_part_gets_an_id() -> None:
    change = {"selector": "h1", "action": "modify_text", "value": "Hello"}
    experiment = draft(
        {"name": "x", "variants": [{"name": "A"}, {"name": "B", "changes": [change]}], "goals": [GOAL]}
    )
    changes, goals = experiment.variants[1].changes, experiment.goals
    ids = [*(v.id for v in experiment.variants), *(c.id for c in changes), *(g.id for g in goals)]
    assert sorted(part.partition("_")[0] for part in ids) == ["chg", "goal", "var", "var"]
    assert len(set(ids)) == 4


def test_the_ids_of_a_copied_experiment_are_not_taken_over() -> None:
    experiment = draft(
        {"name": "x", "variants": [{"id": "var_old", "name": "A"}, {"id": "var_old", "name": "B"}]}
    )
    assert [variant.id for variant in experiment.variants] == ["var_1", "var_2"]


def test_the_first_variant_is_the_control_and_the_first_goal_primary_unless_marked() -> None:
    unmarked = draft({"name": "x", "variants": [{"name": "A"}, {"name": "B"}], "goals": [GOAL, GOAL]})
    assert [variant.is_control for variant in unmarked.variants] == [True, False]
    assert [goal.is_primary for goal in unmarked.goals] == [True, False]
    marked = draft({"name": "x", "variants": [{"name": "A"}, {"name": "B", "is_control": True}]})
    assert [variant.is_control for variant in marked.variants] == [False, True]


def test_times_are_kept_in_utc() -> None:
    experiment = draft({"name": "x", "scheduled_start_at": "2026-05-01T09:00:00+02:00"})
    assert experiment.scheduled_start_at == datetime(2026, 5, 1, 7, tzinfo=UTC)
    assert experiment.scheduled_start_at.tzinfo is UTC


@pytest.mark.parametrize("when", ["2026-05-01", "2026-05-01T09:00", "0001-01-01T00:00+23:00", "soon", 5, [1]])
def test_a_time_is_iso_8601_with_a_zone(when: object) -> None:
    assert set(problems_of({"name": "x", "scheduled_start_at": when})) == {"scheduled_start_at"}


def test_everything_wrong_is_reported_with_its_path() -> None:
    fields = {
        "nam": "typo",
        "traffic_allocation": "all",
        "variants": [3, {"name": "A", "weight": -1, "wait": 1}, {"changes": [{"action": "explode"}]}],
        "goals": [{"name": "Thanks", "goal_type": "pageview"}],
        "url_rules": [{"type": "include"}],
        "stop_conditions": {"visitor_limit": 0},
        "targeting_rules": {"version": 2, "root": {"operator": "and", "children": ["x"]}},
        "scheduled_end_at": "never",
    }
    assert set(problems_of(fields)) == {
        "nam",
        "name",
        "traffic_allocation",
        "variants[0]",
        "variants[1].weight",
        "variants[1].wait",
        "variants[2].name",
        "variants[2].changes[0].selector",
        "variants[2].changes[0].action",
        "goals[0].config.url",
        "url_rules[0].match_type",
        "url_rules[0].value",
        "stop_conditions.visitor_limit",
        "targeting_rules.root.children[0]",
        "scheduled_end_at",
    }


def test_an_unknown_field_is_refused_with_the_one_that_was_meant() -> None:
    problems = problems_of({"name": "x", "trafic_allocation": 50})
    assert problems["trafic_allocation"].endswith("did you mean traffic_allocation?")


def test_what_the_service_assigns_may_be_sent_back() -> None:
    assert draft({"name": "x", "id": "exp_9", "created_at": "2020", "score_label": "y"}).id == "exp_1"


def test_input_that_is_no_object_is_refused() -> None:
    assert problems_of([1]) == {"body": "an experiment must be an object, not a list"}


KEYS = (
    *("id", "name", "weight", "changes", "config", "goal_type", "is_control", "is_primary", "visitor_limit"),
    *("root", "operator", "children", "field", "values", "key", "version"),
    *("type", "value", "match_type", "url", "selector", "action", "event_name"),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.just(10**400)
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(
        ["\ud800", "\x00", "(a+)+$", "2026-01-01T00:00:00Z", "and", "pageview", "click", "var_0"]
    ),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.sampled_from(KEYS), children, max_size=6)
    ),
    max_leaves=12,
)


def is_decided(attempt: Callable[[], Experiment]) -> bool:
    """Whether an attempt ends in an experiment, or in reasons why not, and in nothing else."""
    try:
        return isinstance(attempt(), Experiment)
    except (InvalidDesignError, TransitionError) as error:
        return bool(error.problems) and all(problem.message for problem in error.problems)


@examples(25, 200, seconds=5)
@given(st.dictionaries(st.sampled_from(WRITABLE_FIELDS) | st.text(max_size=5), json_values, max_size=8))
def test_no_input_at_all_ends_in_another_error(fields: dict[str, Any]) -> None:
    assert is_decided(lambda: draft(fields))
    assert is_decided(lambda: revise(an_experiment(), fields))
    assert is_decided(lambda: revise(an_experiment(status="paused"), fields))


def test_nesting_that_would_exhaust_the_stack_is_refused() -> None:
    deep: Any = "leaf"
    for _ in range(100_000):
        deep = [deep]
    for name in ("variants", "goals", "url_rules", "targeting_rules", "stop_conditions", "assigned_user_ids"):
        assert any(field.startswith(name) for field in problems_of({"name": "x", name: deep}))


def test_nested_groups_that_would_exhaust_the_stack_are_refused() -> None:
    root: Any = {"operator": "and", "children": []}
    for _ in range(100_000):
        root = {"operator": "and", "children": [root]}
    problems = problems_of({"name": "x", "targeting_rules": {"version": 2, "root": root}})
    assert problems == {"targeting_rules.root": "holds more than 500 groups and conditions; simplify it"}


def test_a_revision_changes_what_is_given_and_only_that() -> None:
    before = an_experiment()
    after = revise(before, {"name": "New", "stop_conditions": {"visitor_limit": 100}})
    assert (after.name, after.stop_conditions.visitor_limit, after.updated_at) == ("New", 100, NOW)
    assert (after.variants, after.goals, after.url) == (before.variants, before.goals, before.url)
    assert after.created_at == STARTED


def test_a_part_with_an_id_keeps_what_is_not_given() -> None:
    before = an_experiment()
    after = revise(before, {"variants": [{"id": "var_0", "weight": 3}, {"id": "var_1"}]})
    assert (after.variants[0].name, after.variants[0].weight, after.variants[0].is_control) == (
        "Control",
        3,
        True,
    )
    assert after.variants[1] == before.variants[1]


def test_in_a_draft_variants_come_and_go() -> None:
    after = revise(an_experiment(), {"variants": [{"id": "var_0"}, {"name": "New"}]})
    assert [variant.name for variant in after.variants] == ["Control", "New"]


def test_variants_stay_in_order_of_creation_however_they_are_sent() -> None:
    sent = [{"name": "New"}, {"id": "var_2"}, {"id": "var_0"}, {"id": "var_1"}]
    after = revise(an_experiment(weights=(1, 1, 1)), {"variants": sent})
    assert [variant.name for variant in after.variants] == ["Control", "Treatment 1", "Treatment 2", "New"]
    wrong = problems_of({"variants": [{"name": ""}, {"id": "var_0"}]}, an_experiment())
    assert set(wrong) == {"variants[0].name"}


def test_an_id_that_nothing_has_is_refused() -> None:
    problems = problems_of({"variants": [{"id": "var_x", "name": "A"}]}, an_experiment())
    assert problems["variants[0].id"] == "no variant has the id 'var_x'; leave the id out to add one"


def test_an_update_does_not_change_the_status() -> None:
    assert "status" in problems_of({"status": "running"}, an_experiment())
    assert revise(an_experiment(), {"status": "draft"}).status == "draft"


def test_the_test_key_of_a_revision_is_a_slug() -> None:
    assert "test_key" in problems_of({"test_key": "Not a slug"}, an_experiment())
    assert revise(an_experiment(), {"test_key": "other"}).test_key == "other"


def test_without_a_start_a_scheduled_experiment_is_a_draft_again() -> None:
    after = revise(an_experiment(status="scheduled"), {"scheduled_start_at": None})
    assert (after.status, after.scheduled_start_at) == ("draft", None)


def test_a_scheduled_experiment_stays_one_that_can_start() -> None:
    scheduled = an_experiment(status="scheduled")
    assert revise(scheduled, {"scheduled_start_at": "2027-01-01T00:00:00Z"}).status == "scheduled"
    assert set(problems_of({"goals": []}, scheduled)) == {"goals"}


def test_a_whole_experiment_can_be_sent_back_as_it_was() -> None:
    before = draft({"name": "x", "variants": [{"name": "A"}, {"name": "B"}], "goals": [GOAL]})
    fields = {name: getattr(before, name) for name in ("name", "test_key", "url", "targeting_rules")}
    assert revise(before, fields) == before


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Checkout button", "checkout-button"),
        ("  Größe & Farbe!  ", "groe-farbe"),
        ("Café à la carte", "cafe-a-la-carte"),
        ("日本語", "experiment"),
        ("--", "experiment"),
        ("x" * 300, "x" * 100),
    ],
)
def test_a_slug_is_small_letters_digits_and_hyphens(name: str, slug: str) -> None:
    assert slug_of(name) == slug


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"name": "A B"}, "a-b"),
        ({"name": "A B", "test_key": "own_key"}, "own_key"),
        ({"name": 3, "test_key": []}, "experiment"),
        (None, "experiment"),
    ],
)
def test_the_wanted_test_key_is_always_usable(fields: object, key: str) -> None:
    assert wanted_test_key(fields) == key


def test_the_caller_decides_the_test_key_and_a_wrong_wish_is_still_reported() -> None:
    assert draft({"name": "A"}, test_key="a-2").test_key == "a-2"
    assert set(problems_of({"name": "A", "test_key": "No Slug"})) == {"test_key"}


def test_what_is_sent_can_change_later_without_changing_the_experiment() -> None:
    condition = {"field": "country", "operator": "in", "values": ["DE"]}
    rules = {"version": 2, "root": {"operator": "and", "children": [condition]}}
    experiment = draft({"name": "x", "targeting_rules": rules})
    condition["values"] = ["FR"]
    assert experiment.targeting_rules["root"]["children"][0]["values"] == ["DE"]


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
