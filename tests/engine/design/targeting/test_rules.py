"""Which targeting rules can be evaluated."""

from typing import Any

import pytest

from engine.design.targeting.fields import TARGETING_FIELDS, VALUES_OF_OPERATOR
from engine.design.targeting.rules import EVERYONE, targeting_rules

GERMAN = {"field": "country", "operator": "in", "values": ["DE"]}


def problems_of(rules: object) -> dict[str, str]:
    return {problem.field: problem.message for problem in targeting_rules(rules)}


def problems_with(*children: Any, operator: str = "and") -> dict[str, str]:
    found = problems_of({"version": 2, "root": {"operator": operator, "children": list(children)}})
    return {field.removeprefix("root.children"): message for field, message in found.items()}


def nested(depth: int) -> dict[str, Any]:
    group: dict[str, Any] = {"operator": "and", "children": [GERMAN]}
    for _ in range(depth - 1):
        group = {"operator": "and", "children": [group]}
    return {"version": 2, "root": group}


def test_rules_for_everyone_are_sound() -> None:
    assert problems_of(EVERYONE) == {}


@pytest.mark.parametrize("name", TARGETING_FIELDS)
def test_every_field_takes_each_of_its_operators(name: str) -> None:
    field = TARGETING_FIELDS[name]
    assert field.operators
    for operator in field.operators:
        value = field.enum_values[0] if field.enum_values else "1"
        values = [value] * VALUES_OF_OPERATOR[operator][0]
        key = {"key": "k"} if field.requires_key else {}
        assert problems_with({"field": name, "operator": operator, "values": values, **key}) == {}


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (None, ""),
        ([], ""),
        ({"version": 1, "root": EVERYONE["root"]}, "version"),
        ({"version": True, "root": EVERYONE["root"]}, "version"),
        ({"version": 2}, "root"),
        ({"version": 2, "root": []}, "root"),
        ({"version": 2, "root": {"operator": "xor", "children": []}}, "root.operator"),
        ({"version": 2, "root": {"operator": ["and"], "children": []}}, "root.operator"),
        ({"version": 2, "root": {"operator": "and", "children": {}}}, "root.children"),
        ({"version": 2, "root": {"operator": "or", "children": []}}, "root.children"),
        ({"version": 2, "root": EVERYONE["root"], "roots": 1}, "roots"),
    ],
)
def test_rules_have_a_version_and_a_root_group(rules: object, field: str) -> None:
    assert set(problems_of(rules)) == {field}


def test_a_not_group_takes_one_child() -> None:
    assert "takes one child, there are 2" in problems_with(GERMAN, GERMAN, operator="not")[""]


def test_groups_nest_five_deep_and_no_deeper() -> None:
    assert problems_of(nested(5)) == {}
    assert list(problems_of(nested(6)).values()) == ["is nested more than 5 deep; flatten the groups"]


def test_the_number_of_conditions_is_limited() -> None:
    assert problems_with(*[GERMAN] * 499) == {}
    assert "more than 500" in str(problems_with(*[GERMAN] * 500))
    assert "more than 500" in str(problems_with(*[GERMAN] * 100_000))


@pytest.mark.parametrize(
    ("condition", "field"),
    [
        (3, "[0]"),
        ({}, "[0].field"),
        ({"field": ["country"], "operator": "in", "values": ["DE"]}, "[0].field"),
        ({"field": "planet", "operator": "in", "values": ["Mars"]}, "[0].field"),
        ({"field": "country", "operator": "near", "values": ["DE"]}, "[0].operator"),
        ({"field": "device_type", "operator": "contains", "values": ["mobile"]}, "[0].operator"),
        ({"field": "browser", "operator": "gt", "values": ["1"]}, "[0].operator"),
        ({"field": "country", "operator": "in", "values": []}, "[0].values"),
        ({"field": "country", "operator": "in"}, "[0].values"),
        ({"field": "country", "operator": "in", "values": "DE"}, "[0].values"),
        ({"field": "country", "operator": "in", "values": [1]}, "[0].values[0]"),
        ({"field": "country", "operator": "in", "values": ["DE", "DE"]}, "[0].values[1]"),
        ({"field": "country", "operator": "exists", "values": ["DE"]}, "[0].values"),
        ({"field": "country", "operator": "in", "values": ["x"] * 1001}, "[0].values"),
        ({"field": "device_type", "operator": "in", "values": ["fridge"]}, "[0].values[0]"),
        ({"field": "hour_of_day", "operator": "gt", "values": ["1", "2"]}, "[0].values"),
        ({"field": "hour_of_day", "operator": "gt", "values": ["1_0"]}, "[0].values[0]"),
        ({"field": "hour_of_day", "operator": "in", "values": ["nan"]}, "[0].values[0]"),
        ({"field": "browser", "operator": "regex", "values": ["("]}, "[0].values[0]"),
        ({"field": "cookie", "operator": "in", "values": ["x"]}, "[0].key"),
        ({"field": "cookie", "operator": "in", "values": ["x"], "key": ""}, "[0].key"),
        ({"field": "country", "operator": "in", "values": ["DE"], "key": "k"}, "[0].key"),
        ({"field": "country", "operator": "in", "values": ["DE"], "value": "DE"}, "[0].value"),
    ],
)
def test_a_condition_that_could_not_be_evaluated_is_refused(condition: object, field: str) -> None:
    assert set(problems_with(condition)) == {field}


def test_operators_that_need_no_value_may_leave_it_out() -> None:
    assert problems_with({"field": "country", "operator": "exists"}) == {}


def test_every_condition_is_judged() -> None:
    assert set(problems_with(3, GERMAN, {"operator": "and", "children": [4]})) == {"[0]", "[2].children[0]"}
