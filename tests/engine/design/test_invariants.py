"""Invariants between fields, each with an example that breaks it."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from engine.design.invariants import (
    START_REQUIREMENTS,
    TIMES_OF_STATUS,
    distinct,
    exactly_one,
    pattern_fits,
    start_requirements,
    weights_split_traffic,
)
from engine.errors import Problem
from engine.vocabulary import Status, words


def paths(problems: Iterable[Problem]) -> list[str]:
    return [problem.field for problem in problems]


@pytest.mark.parametrize(
    ("rule", "records", "expected"),
    [
        (distinct("name"), [{"name": "A"}, {"name": "B"}], []),
        (distinct("name"), [{"name": "A"}, {"name": "A"}], ["[1].name"]),
        (exactly_one("is_control", "control", from_count=2), [{"is_control": False}], []),
        (exactly_one("is_control", "control", from_count=2), [{"is_control": False}] * 2, [""]),
        (exactly_one("is_control", "control", from_count=2), [{"is_control": True}] * 2, [""]),
        (exactly_one("is_control", "control", from_count=2), [{}, {"is_control": False}], []),
        (weights_split_traffic, [{"weight": 0}, {"weight": 1}], []),
        (weights_split_traffic, [{"weight": 0}, {"weight": 0}], [""]),
        (weights_split_traffic, [{"weight": 1e-9}, {"weight": 1}], ["[0].weight"]),
        (weights_split_traffic, [{}, {"weight": 0}], []),
    ],
)
def test_a_rule_of_a_list_points_at_what_breaks_it(
    rule: Callable[..., Iterable[Problem]], records: list[dict[str, Any]], expected: list[str]
) -> None:
    assert paths(rule(records)) == expected


def test_a_pattern_is_checked_by_its_match_type_once_both_are_valid() -> None:
    rule = pattern_fits("match_type", "value")
    assert paths(rule({"match_type": "exact", "value": "shop.example"})) == ["value"]
    assert paths(rule({"match_type": "contains", "value": "shop.example"})) == []
    assert paths(rule({"value": "shop.example"})) == []


def test_an_experiment_needs_two_variants_and_a_goal_to_start() -> None:
    assert START_REQUIREMENTS == {"variants": 2, "goals": 1}
    assert paths(start_requirements({"variants": [1], "goals": []})) == ["variants", "goals"]
    assert paths(start_requirements({"variants": [1, 2], "goals": [1]})) == []


def test_the_times_of_every_status_are_listed() -> None:
    assert set(TIMES_OF_STATUS) == set(words(Status))
