from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.assignment import bucket_variant, unit_hash
from engine.design.experiment import Experiment, UrlRule
from engine.design.patterns.automaton import compile_pattern
from engine.design.reweighting import reweight
from engine.design.variants import Change
from engine.typed_records import record_of
from pipeline.assignment.browser_config import (
    browser_config,
    custom_script_path,
    custom_script_version,
    facts_of,
    needs_facts,
)
from pipeline.events.attributes import Client
from tests.builders import STARTED, a_goal, a_project, an_experiment, variants_of

PROJECT = a_project(settings={"domains": ["*.shop.example"], "require_consent": True})


def experiments_in(*experiments: Experiment, **options: Any) -> list[dict[str, Any]]:
    config = browser_config(PROJECT, experiments, sdk_key="pk_old", **options)
    found: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(config))["experiments"]
    return found


def a_live(**fields: Any) -> Experiment:
    return an_experiment(**{"status": "running", **fields})


def targeted(field: str, operator: str = "equals", *values: str) -> dict[str, Any]:
    condition = {"field": field, "operator": operator, "values": list(values)}
    return {
        "version": 2,
        "root": {"operator": "and", "children": [{"operator": "not", "children": [condition]}]},
    }


def test_only_running_and_paused_experiments_are_told() -> None:
    every = [an_experiment(id=f"exp_{status}", status=status) for status in STATUSES]
    assert [one["id"] for one in experiments_in(*every)] == ["exp_running", "exp_paused"]


STATUSES = ("draft", "scheduled", "running", "paused", "completed", "archived")


def test_project_is_told_by_the_key_that_was_asked_with() -> None:
    config = browser_config(PROJECT, [], sdk_key="pk_old")
    assert (config["sdk_key"], config["project_id"]) == ("pk_old", "prj_1")
    assert config["hosts"] == ["*.shop.example", "shop.example"]
    assert config["settings"] == {
        "cookie_domain": None,
        "respect_dnt": False,
        "respect_gpc": False,
        "require_consent": True,
        "consent_source": None,
        "bot_filtering": True,
        "anti_flicker_timeout_ms": 1000,
        "revenue_currency": "USD",
    }


def test_a_consent_platform_is_told_and_requires_consent() -> None:
    project = a_project(settings={"consent_source": "tcf"})
    told = browser_config(project, [], sdk_key="pk")["settings"]
    assert (told["require_consent"], told["consent_source"]) == (True, "tcf")


@pytest.mark.parametrize("is_enabled", [True, False])
def test_only_integrations_that_are_on_are_told(*, is_enabled: bool) -> None:
    ga4 = {"enabled": is_enabled, "measurement_id": "G-1"}
    project = a_project(integrations={"ga4": ga4, "gtm": {"enabled": is_enabled}})
    told = browser_config(project, [], sdk_key="pk")["integrations"]
    assert told == {"ga4": "G-1" if is_enabled else None, "gtm": is_enabled}


@given(
    visitor=st.text(max_size=20), allocation=st.integers(0, 100), weights=st.sampled_from([(1, 1), (1, 0, 3)])
)
def test_thresholds_assign_as_the_server_does(
    visitor: str, allocation: int, weights: tuple[int, ...]
) -> None:
    experiment = a_live(weights=weights, traffic_allocation=allocation)
    (told,) = experiments_in(experiment)
    is_in = unit_hash(experiment, "t", visitor) < told["traffic"]
    share = unit_hash(experiment, "v", visitor)
    index = next(place for place, end in enumerate(told["thresholds"]) if share < end) if is_in else None
    assert index == bucket_variant(experiment, visitor)


def test_pages_are_the_url_and_the_rules() -> None:
    rules = (
        UrlRule(type="include", match_type="contains", value="/sale"),
        UrlRule(type="exclude", match_type="ends_with", value="/admin"),
    )
    (told,) = experiments_in(a_live(url_rules=rules))
    assert told["pages"] == {
        "include": [
            {"match_type": "exact", "value": "https://shop.example/checkout"},
            {"match_type": "contains", "value": "/sale"},
        ],
        "exclude": [{"match_type": "ends_with", "value": "/admin"}],
    }


PATTERN_RULE = UrlRule(type="exclude", match_type="regex", value="(a+)+$")
# RE2 runs it; its automaton has a million states.
LARGE = "(a|b)*a(a|b){20}"


def test_regular_expressions_are_automata_each_once() -> None:
    experiments = [
        a_live(id="exp_1", url="a+", url_match_type="regex", url_rules=(PATTERN_RULE,)),
        a_live(id="exp_2", targeting_rules=targeted("url", "regex", "x$", "(a+)+$")),
    ]
    config = browser_config(PROJECT, experiments, sdk_key="pk")
    expected = [compile_pattern(pattern).automaton for pattern in ("a+", "(a+)+$", "x$")]
    assert config["automata"] == [automaton.as_json() for automaton in expected if automaton]
    first, second = config["experiments"]
    assert first["pages"] == {
        "include": [{"match_type": "regex", "automaton": 0}],
        "exclude": [{"match_type": "regex", "automaton": 1}],
    }
    condition = second["targeting"]["children"][0]["children"][0]
    assert condition == {"field": "url", "operator": "regex", "automata": [2, 1]}
    assert [first["decided_by_server"], second["decided_by_server"]] == [False, False]


@pytest.mark.parametrize(
    "fields",
    [
        {"url": LARGE, "url_match_type": "regex"},
        {"url_rules": (PATTERN_RULE, replace(PATTERN_RULE, value=LARGE))},
        {"targeting_rules": targeted("url", "regex", LARGE)},
    ],
)
def test_large_regular_expression_is_left_to_the_server(fields: dict[str, Any]) -> None:
    config = browser_config(PROJECT, [a_live(**fields)], sdk_key="pk")
    (told,) = config["experiments"]
    assert told["decided_by_server"] is True
    assert (told["pages"], told["targeting"], config["automata"]) == (None, None, [])


@pytest.mark.parametrize(
    ("field", "needed"), [("country", True), ("browser", True), ("language", False), ("utm_source", False)]
)
def test_facts_are_needed_where_an_experiment_is_targeted_by_them(field: str, *, needed: bool) -> None:
    config = browser_config(PROJECT, [a_live(targeting_rules=targeted(field, "equals", "x"))], sdk_key="pk")
    assert needs_facts(config) is needed


def test_facts_are_those_of_the_headers() -> None:
    agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1"
    facts = facts_of(Client.of_headers({"user-agent": agent, "cf-ipcountry": "de"}), "Berlin")
    assert (facts["country"], facts["region"], facts["device_type"]) == ("DE", None, "mobile")
    assert (facts["city"], facts["is_bot"]) == ("Berlin", False)


def test_script_of_an_experiment_has_the_version_of_its_code() -> None:
    assert custom_script_path(a_live()) is None
    first, second = (custom_script_path(a_live(custom_js=code)) for code in ("a()", "b()"))
    assert first == f"exp_1.js?v={custom_script_version('a()')}"
    assert first != second
    (told,) = experiments_in(a_live(custom_js="secret()"))
    assert told["custom_js"] == custom_script_path(a_live(custom_js="secret()"))


def test_selectors_and_events_of_goals_are_told_once() -> None:
    goals = (
        a_goal(id="g1", goal_type="click", config={"selector": "#buy"}),
        a_goal(id="g2", is_primary=False, goal_type="click", config={"selector": "#buy"}),
        a_goal(id="g3", is_primary=False, goal_type="ga4_event", config={"event_name": "purchase"}),
        a_goal(
            id="g4",
            is_primary=False,
            goal_type="ga4_event",
            config={"event_name": "purchase", "value_param": "value"},
        ),
    )
    config = browser_config(PROJECT, [a_live(goals=goals)], sdk_key="pk")
    assert config["clicks"] == ["#buy"]
    assert config["ga4_events"] == [
        {"event_name": "purchase", "value_param": None},
        {"event_name": "purchase", "value_param": "value"},
    ]


def test_browsers_send_the_events_of_denominators_too() -> None:
    denominator = {"goal_type": "ga4_event", "event_name": "view_item"}
    config = {"selector": "#buy", "measure": "ratio", "denominator": denominator}
    clicks = a_goal(id="g1", goal_type="click", config=config)
    denominator = {"goal_type": "click", "selector": "#see"}
    config = {"event_name": "buy", "measure": "ratio", "denominator": denominator}
    bought = a_goal(id="g2", is_primary=False, config=config)
    found = browser_config(PROJECT, [a_live(goals=(clicks, bought))], sdk_key="pk")
    assert found["clicks"] == ["#buy", "#see"]
    assert found["ga4_events"] == [{"event_name": "view_item", "value_param": None}]


def test_browsers_send_the_events_of_steps_too() -> None:
    steps = [
        {"goal_type": "click", "selector": "#see"},
        {"goal_type": "ga4_event", "event_name": "view_item"},
    ]
    goal = a_goal(config={"event_name": "buy", "measure": "funnel", "steps": steps})
    found = browser_config(PROJECT, [a_live(goals=(goal,))], sdk_key="pk")
    assert found["clicks"] == ["#see"]
    assert found["ga4_events"] == [{"event_name": "view_item", "value_param": None}]


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)
    elif isinstance(value, str):
        yield value


NAMES = st.text("abcdefghij ", min_size=1).map(lambda text: f"only for us: {text}.")


@given(data=st.data())
def test_nothing_of_the_team_is_told(data: st.DataObject) -> None:
    def a_secret() -> str:
        secret = data.draw(NAMES)
        secrets.append(secret)
        return secret

    secrets: list[str] = []
    experiments = []
    for number, status in enumerate(data.draw(st.lists(st.sampled_from(STATUSES), min_size=1, max_size=4))):
        variants = variants_of((1, 1))
        change = Change(id="chg", selector="h1", action="modify_text", value="Hello")
        if status not in {"running", "paused"}:
            change = replace(change, value=a_secret())
        variants = (
            replace(variants[0], name=a_secret()),
            replace(variants[1], name=f"{a_secret()}{number}", changes=(change,)),
        )
        experiments.append(
            an_experiment(
                id=f"exp_{number}",
                status=status,
                name=a_secret(),
                hypothesis=a_secret(),
                assigned_user_ids=(a_secret(),),
                variants=variants,
                goals=(a_goal(name=a_secret()),),
                custom_js=a_secret(),
            )
        )
    project = a_project(name=a_secret(), settings={"excluded_ips": ["203.0.113.7"]})
    told = [*texts_in(browser_config(project, experiments, sdk_key="pk"))]
    assert "prj_1" in told
    assert [secret for secret in secrets if any(secret in text for text in told)] == []
    assert not any("203.0.113" in text for text in told)


def test_server_gets_experiments_that_assign_as_the_stored_ones() -> None:
    experiment = a_live(
        hypothesis="ours", assigned_user_ids=("mem_1",), scheduled_end_at=STARTED + timedelta(days=99)
    )
    (told,) = experiments_in(experiment, with_definitions=True)
    kept = replace(experiment, hypothesis=None, assigned_user_ids=())
    assert record_of(told["definition"], Experiment) == kept


def test_weights_that_changed_are_told_as_ranges_to_all_and_as_epochs_to_servers() -> None:
    steady, once = a_live(), a_live(weights=(1, 1))
    changed = reweight(once, (3, 1), now=STARTED + timedelta(hours=1))
    for browser, server in zip(
        experiments_in(steady, changed), experiments_in(steady, changed, with_definitions=True), strict=True
    ):
        assert server.items() >= browser.items()
        assert browser.keys().isdisjoint({"epochs", "definition"})
    same, told = experiments_in(steady, changed, with_definitions=True)
    assert same.keys().isdisjoint({"epochs", "unsettled"})
    assert told["unsettled"] == [[2**31, 3 * 2**30]]
    assert told["epochs"] == [
        {"started_at": "2026-03-01T09:00:00Z", "thresholds": [2**31, 2**32]},
        {"started_at": "2026-03-01T10:00:00Z", "thresholds": [3 * 2**30, 2**32]},
    ]


def test_a_hundred_changes_take_a_browser_no_more_than_two() -> None:
    experiment = a_live(weights=(1, 1, 1))
    for hours in range(100):
        weights = (1, 1 + hours % 7, 2 + hours % 3)
        experiment = reweight(experiment, weights, now=STARTED + timedelta(hours=hours))
    (told,) = experiments_in(experiment)
    assert len(experiment.weight_epochs) > 90
    assert 1 <= len(told["unsettled"]) <= 2


def test_names_and_payloads_are_told_where_the_experiment_says_so() -> None:
    control, treatment = variants_of((1, 1))
    variants = (control, replace(treatment, payload={"price": 9.5}))
    (told,) = experiments_in(a_live(variants=variants, public_variants=True))
    assert told["variants"] == [
        {"id": "var_0", "is_control": True, "changes": [], "name": "Control", "payload": None},
        {"id": "var_1", "is_control": False, "changes": [], "name": "Treatment 1", "payload": {"price": 9.5}},
    ]
    (silent,) = experiments_in(a_live())
    assert {*silent["variants"][0]} == {"id", "is_control", "changes"}
