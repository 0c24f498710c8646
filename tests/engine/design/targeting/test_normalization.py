"""Normalized targeting: values as a browser compares them."""

from typing import Any

import pytest

from engine.design.targeting.normalization import normalized_targeting
from engine.design.targeting.rules import EVERYONE


def normalized(condition: dict[str, Any]) -> Any:
    rules = {"version": 2, "root": {"operator": "and", "children": [condition]}}
    root = normalized_targeting(rules, ["x$", "^y"].index)
    assert root is not None
    assert root["operator"] == "and"
    return root["children"][0]


def test_rules_for_every_visitor_are_none() -> None:
    assert normalized_targeting(EVERYONE, ["x$"].index) is None


def test_values_are_in_lower_case_where_the_field_ignores_case() -> None:
    browser = {"field": "browser", "operator": "in", "values": ["Chrome", "chrome", "Safari"]}
    assert normalized(browser) == {**browser, "values": ["chrome", "safari"], "ignores_case": True}
    cookie = {"field": "cookie", "operator": "equals", "values": ["A"], "key": "plan"}
    assert normalized(cookie) == cookie


@pytest.mark.parametrize(("value", "shortest"), [("07", "7"), ("7.0", "7"), ("+7", "7"), ("12.50", "12.5")])
def test_numbers_are_in_their_shortest_form(value: str, shortest: str) -> None:
    hour = {"field": "hour_of_day", "operator": "equals", "values": [value]}
    assert normalized(hour) == {**hour, "values": [shortest]}


def test_regular_expressions_are_numbers_of_automata() -> None:
    condition = {"field": "browser", "operator": "regex", "values": ["^y", "x$"]}
    assert normalized(condition) == {"field": "browser", "operator": "regex", "automata": [1, 0]}


def test_groups_keep_their_form() -> None:
    exists = {"field": "language", "operator": "exists", "values": []}
    inner = {"operator": "not", "children": [exists]}
    assert normalized(inner) == {
        "operator": "not",
        "children": [{"field": "language", "operator": "exists", "ignores_case": True}],
    }
