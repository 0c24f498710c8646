"""What can be edited in which status."""

from typing import Any

import pytest

from engine.design.drafting import revise_experiment
from engine.design.edit_locks import is_closed
from engine.design.experiment import Experiment
from engine.design.variants import Change
from engine.errors import TransitionError
from engine.vocabulary import Status
from tests.builders import NOW, a_goal, a_variant, an_experiment, variants_of
from tests.engine.design.drafts import revise

CHANGE = Change(id="chg_1", selector="h1", action="modify_text", value="Hello")


def paused(**overrides: Any) -> Experiment:
    variants = (variants_of((1, 1))[0], a_variant(id="var_1", changes=(CHANGE,), payload="Yes"))
    fields = {"status": "paused", "variants": variants, "public_variants": True}
    return an_experiment(**{**fields, **overrides})


def locked(fields: dict[str, Any]) -> set[str]:
    with pytest.raises(TransitionError) as error:
        revise(paused(), fields)
    assert error.value.code == "field_locked"
    return {problem.field for problem in error.value.problems}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("running", "experiment_running"),
        ("completed", "experiment_locked"),
        ("archived", "experiment_locked"),
    ],
)
def test_a_status_that_allows_no_edits_says_so(status: Status, code: str) -> None:
    with pytest.raises(TransitionError) as error:
        revise(an_experiment(status=status), {"name": "New"})
    assert error.value.code == code
    assert [is_closed(one) for one in ("draft", "scheduled", "paused", status)] == [False, False, False, True]


@pytest.mark.parametrize("status", ["draft", "scheduled"])
def test_before_it_starts_everything_can_change(status: str) -> None:
    fields = {
        "type": "redirect",
        "url": "/other",
        "variants": [{"name": "A"}, {"name": "B"}, {"name": "C"}],
        "goals": [{"name": "Clicks", "goal_type": "click", "config": {"selector": "#buy"}}],
    }
    assert len(revise(an_experiment(status=status), fields).variants) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"name": "New"},
        {"traffic_allocation": 50},
        {"hypothesis": "Shorter forms sell more"},
        {
            "variants": [
                {"id": "var_0", "weight": 2},
                {"id": "var_1", "changes": [{"id": "chg_1", "value": "Hi"}]},
            ]
        },
        {
            "variants": [
                {"id": "var_0"},
                {"id": "var_1", "changes": [{"id": "chg_1"}, {"selector": "p", "action": "remove"}]},
            ]
        },
        {"variants": [{"id": "var_0", "payload": "Buy"}, {"id": "var_1", "payload": "Go"}]},
        {"goals": [{"id": "goal_1"}, {"name": "More", "goal_type": "revenue"}]},
        {"goals": [{"id": "goal_1", "name": "Renamed"}]},
    ],
)
def test_a_paused_experiment_can_be_tuned(change: dict[str, Any]) -> None:
    assert revise(paused(), change) != paused()


def test_a_paused_experiment_accepts_what_it_is_already() -> None:
    same = {
        "type": "visual",
        "url": "https://shop.example/checkout",
        "url_match_type": "exact",
        "url_rules": [],
        "confidence_level": 95,
        "analysis_method": "frequentist",
        "traffic_strategy": "fixed",
        "unit": "visitor",
        "variants": [{"id": "var_0", "is_control": True}, {"id": "var_1", "is_control": False}],
        # The default direction says the same as none.
        "goals": [{"id": "goal_1", "config": {"event_name": "purchase", "direction": "increase"}}],
    }
    assert revise(paused(), same).status == "paused"


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"type": "redirect"}, {"type"}),
        ({"url": "/other", "url_match_type": "contains"}, {"url", "url_match_type"}),
        ({"url_rules": [{"type": "exclude", "match_type": "contains", "value": "x"}]}, {"url_rules"}),
        ({"variants": [{"id": "var_0"}, {"id": "var_1"}, {"name": "New"}]}, {"variants[2]"}),
        ({"confidence_level": 90}, {"confidence_level"}),
        ({"unit": {"attribute": "account"}}, {"unit"}),
        (
            {"analysis_method": "bayesian", "traffic_strategy": "bandit"},
            {"analysis_method", "traffic_strategy"},
        ),
        (
            {"variants": [{"id": "var_0", "is_control": False}, {"id": "var_1", "is_control": True}]},
            {"variants[0].is_control", "variants[1].is_control"},
        ),
        ({"variants": [{"id": "var_1"}, {"id": "var_0", "is_control": None}]}, {"variants[1].is_control"}),
        ({"variants": [{"id": "var_0"}]}, {"variants"}),
        ({"variants": [{"id": "var_0"}, {"id": "var_1", "changes": []}]}, {"variants[1].changes"}),
        ({"variants": [{"id": "var_0"}, {"id": "var_1", "payload": None}]}, {"variants[1].payload"}),
        ({"goals": []}, {"goals"}),
        ({"goals": [{"id": "goal_1", "config": {"event_name": "other"}}]}, {"goals[0].config"}),
        (
            {"goals": [{"id": "goal_1", "config": {"event_name": "purchase", "direction": "decrease"}}]},
            {"goals[0].config.direction"},
        ),
        (
            {"goals": [{"id": "goal_1", "goal_type": "pageview", "config": {"url": "/"}}]},
            {"goals[0].goal_type", "goals[0].config"},
        ),
        (
            {
                "goals": [
                    {"id": "goal_1", "is_primary": False},
                    {"name": "Other", "goal_type": "revenue", "is_primary": True},
                ]
            },
            {"goals[0].is_primary"},
        ),
    ],
)
def test_a_paused_experiment_keeps_what_its_history_rests_on(
    change: dict[str, Any], fields: set[str]
) -> None:
    assert locked(change) == fields


def test_parts_sent_without_their_ids_do_not_replace_the_old_ones() -> None:
    sent = {
        "variants": [{"name": "Control", "is_control": True}, {"name": "Treatment"}],
        "goals": [{"name": "Purchase", "goal_type": "custom_event", "config": {"event_name": "purchase"}}],
    }
    assert {"variants", "goals", "variants[0]", "variants[1]"} <= locked(sent)


def test_everything_locked_and_everything_wrong_is_reported_at_once() -> None:
    assert locked({"type": "redirect", "url": "/other", "traffic_allocation": 200, "foo": 1}) == {
        "type",
        "url",
        "traffic_allocation",
        "foo",
    }


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("direction", "decrease", "increase"),
        ("direction", "decrease", None),
        ("guardrail_margin_percent", 2, 5),
        ("guardrail_margin_percent", 2, None),
        ("guardrail_margin_percent", None, 2),
        ("guardrail_margin_absolute", 2, 5),
        ("window", 7, 14),
        ("window", None, 7),
    ],
)
def test_a_secondary_goal_keeps_what_its_verdict_depends_on(key: str, before: object, after: object) -> None:
    goals = (a_goal(), a_goal(id="goal_2", is_primary=False, config={"event_name": "error", key: before}))
    sent: list[dict[str, Any]] = [
        {"id": "goal_1"},
        {"id": "goal_2", "config": {"event_name": "error", key: after}},
    ]
    with pytest.raises(TransitionError) as error:
        revise(paused(goals=goals), {"goals": sent})
    assert [problem.field for problem in error.value.problems] == [f"goals[1].config.{key}"]
    same = [{"id": "goal_1"}, {"id": "goal_2", "config": {key: before, "event_name": "error"}}]
    assert revise(paused(goals=goals), {"goals": same}).goals == goals


def test_every_setting_that_decides_the_verdict_can_change_before_the_start() -> None:
    fields = {
        "confidence_level": 90,
        "analysis_method": "bayesian",
        "traffic_strategy": "bandit",
        "variants": [{"id": "var_0", "is_control": False}, {"id": "var_1", "is_control": True}],
        "goals": [{"id": "goal_1", "config": {"event_name": "error", "direction": "decrease"}}],
    }
    revised = revise(an_experiment(), fields)
    assert (revised.confidence_level, revised.traffic_strategy) == (90, "bandit")
    assert revised.control == revised.variants[1]


def test_a_secondary_goal_can_change_what_it_counts() -> None:
    goals = (a_goal(), a_goal(id="goal_2", is_primary=False))
    change = {"goals": [{"id": "goal_1"}, {"id": "goal_2", "config": {"event_name": "other"}}]}
    assert revise(paused(goals=goals), change).goals[1].config == {"event_name": "other"}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"numerator": "value"}, "goals[1].config.numerator"),
        ({"denominator": {"event_name": "order"}}, "goals[1].config.denominator"),
        ({"denominator": {"event_name": "cart", "measure": "value"}}, "goals[1].config.denominator"),
    ],
)
def test_neither_part_of_a_ratio_can_change(changed: dict[str, Any], field: str) -> None:
    config: dict[str, Any] = {
        "event_name": "click",
        "measure": "ratio",
        "denominator": {"event_name": "cart"},
    }
    goals = (a_goal(), a_goal(id="goal_2", name="Clicks", is_primary=False, config=config))
    sent: list[dict[str, Any]] = [{"id": "goal_1"}, {"id": "goal_2", "config": {**config, **changed}}]
    with pytest.raises(TransitionError) as error:
        revise(paused(goals=goals), {"goals": sent})
    assert [problem.field for problem in error.value.problems] == [field]
    # The same with its defaults said is no change.
    same = {"goal_type": "custom_event", "event_name": "cart", "measure": "count"}
    sent[1]["config"] = {**config, "numerator": "count", "denominator": same}
    assert revise(paused(goals=goals), {"goals": sent}).goals[1].measure.word == "ratio"


def test_the_days_of_a_retained_goal_cannot_change() -> None:
    config = {"event_name": "open", "measure": "retained", "from_day": 7}
    goals = (a_goal(), a_goal(id="goal_2", name="Back", is_primary=False, config=config))
    sent = [{"id": "goal_1"}, {"id": "goal_2", "config": {**config, "to_day": 8}}]
    with pytest.raises(TransitionError) as error:
        revise(paused(goals=goals), {"goals": sent})
    assert [problem.field for problem in error.value.problems] == ["goals[1].config.to_day"]


def test_until_a_visitor_was_counted_only_what_is_counted_is_locked() -> None:
    goals = (a_goal(id="goal_1", is_primary=True), a_goal(id="goal_2", is_primary=False))
    before = paused(goals=goals)

    def revised(config: dict[str, Any], place: int) -> dict[str, Any]:
        configs = [dict(goal.config) | (config if index == place else {}) for index, goal in enumerate(goals)]
        sent = [{"id": goal.id, "config": one} for goal, one in zip(goals, configs, strict=True)]
        after = revise_experiment(before, {"goals": sent}, now=NOW, new_id=str, is_counted=False)
        return dict(after.goals[place].config)

    free = {"direction": "decrease", "minimum_effect_percent": 3}
    assert free.items() <= revised(free, 0).items()
    assert revised({"window": 3, "direction": "decrease"}, 1)["window"] == 3
    for config in ({"window": 3}, {"event_name": "other"}):
        with pytest.raises(TransitionError) as error:
            revised(config, 0)
        assert error.value.code == "field_locked"
