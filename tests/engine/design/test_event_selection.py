"""Numerators and denominators of ratio goals."""

from typing import Any

import pytest

from tests.builders import a_goal
from tests.engine.design.test_goals import problems_of

RATIO = {"event_name": "x", "measure": "ratio"}
PAGES = {"goal_type": "pageview", "url": "/"}
NET = {"goal_type": "ga4_event", "event_name": "y", "value_param": "net"}


@pytest.mark.parametrize(
    ("goal_type", "config"),
    [
        ("click", {"selector": "#buy", "measure": "ratio", "denominator": PAGES}),
        ("custom_event", {**RATIO, "numerator": "value", "denominator": {"event_name": "y"}}),
        ("custom_event", {**RATIO, "denominator": {**NET, "measure": "value", "match_type": None}}),
    ],
)
def test_a_ratio_of_any_two_events_is_sound(goal_type: str, config: dict[str, Any]) -> None:
    assert a_goal(goal_type=goal_type, config=config).config == config


@pytest.mark.parametrize(
    ("goal_type", "config", "fields"),
    [
        ("custom_event", {**RATIO, "denominator": "y"}, "config.denominator"),
        ("custom_event", {**RATIO, "denominator": {}}, "config.denominator.event_name"),
        ("custom_event", {**RATIO, "denominator": {"event_name": 1}}, "config.denominator.event_name"),
        ("custom_event", {**RATIO, "denominator": {"event_name": "y", "a": 1}}, "config.denominator.a"),
        ("custom_event", {**RATIO, "denominator": {"goal_type": "revenue"}}, "config.denominator.goal_type"),
        ("custom_event", {**RATIO, "denominator": {"goal_type": []}}, "config.denominator.goal_type"),
        ("custom_event", {**RATIO, "denominator": {**PAGES, "url": "x"}}, "config.denominator.url"),
        ("custom_event", {**RATIO, "denominator": NET}, "config.denominator.value_param"),
        ("custom_event", {**RATIO, "denominator": PAGES, "numerator": "ratio"}, "config.numerator"),
        ("custom_event", {**RATIO, "denominator": PAGES, "cap_percentile": 99}, "config.cap_percentile"),
        ("custom_event", {"event_name": "x", "denominator": PAGES}, "config.denominator"),
        ("revenue", {"measure": "ratio", "denominator": PAGES}, "config.measure config.denominator"),
        ("custom_event", {"event_name": "x", "numerator": "count"}, "config.numerator"),
    ],
)
def test_a_ratio_of_another_shape_is_refused(goal_type: str, config: object, fields: str) -> None:
    assert set(problems_of(goal_type, config)) == set(fields.split())


def test_tracking_fills_in_the_parts_of_a_ratio() -> None:
    config = {**RATIO, "denominator": {"event_name": "y", "measure": None}}
    assert a_goal(goal_type="custom_event", config=config).tracking == {
        "direction": "increase",
        **RATIO,
        "numerator": "count",
        "denominator": {"goal_type": "custom_event", "event_name": "y", "measure": "count"},
    }
