"""Experiments drafted from input, or every reason against it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.drafting import WRITABLE_FIELDS, slug_of, wanted_test_key
from engine.design.experiment import Experiment
from engine.design.targeting.rules import EVERYONE
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, an_experiment
from tests.engine.design.drafts import GOAL, draft, problems_of, revise
from tests.examples import examples


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
        {
            "name": "x",
            "variants": [
                {"id": "var_old", "name": "A"},
                {"id": "var_old", "name": "B"},
                {"id": {}, "name": "C"},
            ],
        }
    )
    assert [variant.id for variant in experiment.variants] == ["var_1", "var_2", "var_3"]


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
