"""What a goal of each type tracks."""

from typing import Any

import pytest

from engine.design.goals import CONFIG_KEYS
from engine.errors import InvalidDesignError
from engine.measures.event_selection import REQUIRED_KEYS
from engine.vocabulary import GoalType, words
from tests.builders import a_goal

RETAINED = {"event_name": "x", "measure": "retained"}


def problems_of(goal_type: str, config: object) -> dict[str, str]:
    with pytest.raises(InvalidDesignError) as error:
        a_goal(goal_type=goal_type, config=config)
    return {problem.field: problem.message for problem in error.value.problems}


def test_every_goal_type_has_its_keys() -> None:
    assert set(CONFIG_KEYS) == set(REQUIRED_KEYS) == set(words(GoalType))
    assert all("direction" in keys for keys in CONFIG_KEYS.values())


@pytest.mark.parametrize(
    ("goal_type", "config"),
    [
        ("pageview", {"url": "/thank-you"}),
        ("pageview", {"url": r"/order/\d+", "match_type": "regex", "direction": "increase"}),
        ("click", {"selector": "#buy", "url": "https://shop.example/cart"}),
        ("custom_event", {"event_name": "signup", "direction": "decrease"}),
        ("revenue", {}),
        (
            "revenue",
            {"event_name": "order", "currency": "EUR", "min_cents": 1, "max_cents": 1, "cap_percentile": 99},
        ),
        ("revenue", {"currency": None, "min_cents": None}),
        ("revenue", {"window": 365}),
        ("custom_event", {"event_name": "signup", "measure": "count", "window": 1}),
        ("ga4_event", {"event_name": "purchase", "value_param": "value"}),
        ("pageview", {"url": "/", "measure": "retained", "from_day": 7}),
        ("custom_event", {"event_name": "x", "measure": "retained", "from_day": 1, "to_day": 7}),
    ],
)
def test_a_config_of_its_type_is_sound(goal_type: str, config: dict[str, Any]) -> None:
    assert a_goal(goal_type=goal_type, config=config).config == config


@pytest.mark.parametrize(
    ("goal_type", "config", "field"),
    [
        ("pageview", {}, "config.url"),
        ("pageview", {"url": None}, "config.url"),
        ("pageview", {"url": "thank-you"}, "config.url"),
        ("pageview", {"url": "(", "match_type": "regex"}, "config.url"),
        ("pageview", {"url": "/", "match_type": "fuzzy"}, "config.match_type"),
        ("click", {"url": "/"}, "config.selector"),
        ("click", {"selector": "#buy", "url": "cart"}, "config.url"),
        ("custom_event", {"event_name": ""}, "config.event_name"),
        ("custom_event", {"event_name": "x" * 256}, "config.event_name"),
        ("custom_event", {"event_name": "x", "direction": "up"}, "config.direction"),
        ("custom_event", {"event_name": "x", "url": "/"}, "config.url"),
        ("revenue", {"currency": "usd"}, "config.currency"),
        ("revenue", {"currency": "XXQ"}, "config.currency"),
        ("revenue", {"min_cents": 5, "max_cents": 4}, "config.max_cents"),
        ("revenue", {"min_cents": 0.5}, "config.min_cents"),
        ("revenue", {"cap_percentile": 0.99}, "config.cap_percentile"),
        ("revenue", {"cap_percentile": float("nan")}, "config.cap_percentile"),
        ("revenue", {"window": 0}, "config.window"),
        ("custom_event", {"event_name": "x", "window": 366}, "config.window"),
        ("ga4_event", {"event_name": "x", "window": 1.5}, "config.window"),
        ("click", {"selector": "#buy", "window": {"value": 7, "unit": "days"}}, "config.window"),
        ("ga4_event", {}, "config.event_name"),
        ("custom_event", {**RETAINED, "from_day": 0}, "config.from_day"),
        ("custom_event", {**RETAINED, "from_day": 8, "to_day": 7}, "config.to_day"),
        ("custom_event", {**RETAINED, "from_day": 7, "window": 9}, "config.window"),
        ("custom_event", {**RETAINED, "from_day": 7, "cap_percentile": 99}, "config.cap_percentile"),
        ("custom_event", {"event_name": "x", "to_day": 7}, "config.to_day"),
        ("revenue", None, "config"),
        ("revenue", [], "config"),
    ],
)
def test_a_config_of_another_shape_is_refused(goal_type: str, config: object, field: str) -> None:
    assert set(problems_of(goal_type, config)) == {field}


def test_an_unknown_type_is_refused_without_judging_its_config() -> None:
    assert set(problems_of("download", {})) == {"goal_type"}


@pytest.mark.parametrize(
    ("goal_type", "config", "tracking"),
    [
        ("revenue", {}, {"direction": "increase", "event_name": "purchase"}),
        ("revenue", {"event_name": None}, {"direction": "increase", "event_name": "purchase"}),
        ("pageview", {"url": "/"}, {"direction": "increase", "match_type": "exact", "url": "/"}),
        ("click", {"selector": "a", "direction": "decrease"}, {"direction": "decrease", "selector": "a"}),
        (
            "custom_event",
            {"event_name": "x", "measure": "retained", "from_day": 7},
            {
                "direction": "increase",
                "event_name": "x",
                "measure": "retained",
                "from_day": 7,
                "to_day": 7,
            },
        ),
    ],
)
def test_tracking_fills_in_what_is_not_given(
    goal_type: str, config: dict[str, Any], tracking: dict[str, Any]
) -> None:
    assert a_goal(goal_type=goal_type, config=config).tracking == tracking


def test_guardrail_is_any_goal_but_the_primary() -> None:
    config = {"event_name": "refund", "guardrail_margin_percent": 2}
    assert a_goal(is_primary=False, config=config).config["guardrail_margin_percent"] == 2
    with pytest.raises(InvalidDesignError, match="guardrail can't be the primary goal"):
        a_goal(config=config)
    with pytest.raises(InvalidDesignError, match="from 0 to 99"):
        a_goal(is_primary=False, config={**config, "guardrail_margin_percent": 100})
    absolute = {"event_name": "refund", "guardrail_margin_absolute": 0.5}
    assert a_goal(is_primary=False, config=absolute).config["guardrail_margin_absolute"] == 0.5
    with pytest.raises(InvalidDesignError, match="guardrail can't be the primary goal"):
        a_goal(config=absolute)
    with pytest.raises(InvalidDesignError, match="has one margin"):
        a_goal(is_primary=False, config={**config, **absolute})


def test_a_quantile_is_the_median_of_visitors_unless_told_otherwise() -> None:
    config = {"event_name": "load", "measure": "quantile"}
    assert {key: a_goal(config=config).tracking[key] for key in ("q", "of")} == {"q": 0.5, "of": "visitor"}
    assert a_goal(config={**config, "q": 0.95, "of": "event"}).tracking["q"] == 0.95
    for key, value, message in (
        ("q", 1.0, "q"),
        ("of", "page", "of"),
        ("cap_percentile", 99, "caps amounts"),
    ):
        with pytest.raises(InvalidDesignError, match=message):
            a_goal(config={**config, key: value})
    with pytest.raises(InvalidDesignError, match="is of quantiles only"):
        a_goal(config={"event_name": "load", "measure": "value", "q": 0.9})
