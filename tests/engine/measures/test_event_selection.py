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


FUNNEL = {"event_name": "x", "measure": "funnel"}
CART = {"event_name": "cart"}


@pytest.mark.parametrize(
    ("goal_type", "config", "field"),
    [
        ("custom_event", {**FUNNEL, "steps": []}, "config.steps"),
        ("custom_event", {**FUNNEL, "steps": [{"event_name": f"e{n}"} for n in range(10)]}, "config.steps"),
        ("custom_event", {**FUNNEL, "steps": CART}, "config.steps"),
        ("custom_event", {**FUNNEL, "steps": ["cart"]}, "config.steps[0]"),
        ("custom_event", {**FUNNEL, "steps": [CART, {}]}, "config.steps[1].event_name"),
        ("custom_event", {**FUNNEL, "steps": [{"goal_type": "revenue"}]}, "config.steps[0].goal_type"),
        ("custom_event", {**FUNNEL, "steps": [{"goal_type": []}]}, "config.steps[0].goal_type"),
        ("custom_event", {**FUNNEL, "steps": [{**CART, "measure": "count"}]}, "config.steps[0].measure"),
        ("custom_event", {**FUNNEL, "steps": [{**PAGES, "url": "x"}]}, "config.steps[0].url"),
        ("custom_event", {**FUNNEL, "steps": [NET]}, "config.steps[0].value_param"),
        ("custom_event", {**FUNNEL, "steps": [CART, CART]}, "config.steps[1]"),
        ("custom_event", {**FUNNEL, "steps": [{"event_name": "x"}]}, "config.steps[0]"),
        (
            "pageview",
            {"url": "/", "measure": "funnel", "steps": [{**PAGES, "match_type": "exact"}]},
            "config.steps[0]",
        ),
        ("custom_event", {"event_name": "x", "steps": [CART]}, "config.steps"),
        ("custom_event", {**FUNNEL, "steps": [CART], "cap_percentile": 99}, "config.cap_percentile"),
    ],
)
def test_a_funnel_of_another_shape_is_refused(goal_type: str, config: object, field: str) -> None:
    assert set(problems_of(goal_type, config)) == {field}


def test_tracking_fills_in_the_types_of_steps() -> None:
    config = {**FUNNEL, "steps": [{**CART, "url": None}, PAGES]}
    tracking = a_goal(goal_type="custom_event", config=config).tracking
    assert tracking["steps"] == [{"goal_type": "custom_event", **CART}, PAGES]
