"""Lifecycle of an experiment: the transitions that each status allows and refuses."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import httpx2
import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of
from tests.api.shops import Shop

CALLERS = 8
# How a draft gets into each status; `schedule` sets a start that lies ahead.
STEPS: dict[str, tuple[str, ...]] = {
    "draft": (),
    "scheduled": ("schedule", "start"),
    "running": ("start",),
    "paused": ("start", "pause"),
    "completed": ("start", "complete"),
    "archived": ("start", "complete", "archive"),
}
TRIGGERS = ("start", "pause", "resume", "complete", "archive")
# The contract's table of transitions; every other pair is refused.
ALLOWED = {
    ("draft", "start"): "running",
    ("scheduled", "start"): "running",
    ("running", "pause"): "paused",
    ("paused", "resume"): "running",
    ("running", "complete"): "completed",
    ("paused", "complete"): "completed",
    ("completed", "archive"): "archived",
}
REFUSED_UPDATES = {
    "running": "experiment_running",
    "completed": "experiment_locked",
    "archived": "experiment_locked",
}


def an_experiment_that_is(customer: Customer, project: str, status: str) -> str:
    path = customer.an_experiment(project)
    for step in STEPS[status]:
        if step == "schedule":
            tomorrow = datetime.now(UTC) + timedelta(days=1)
            answer = customer.patch(path, {"scheduled_start_at": tomorrow.isoformat()})
        else:
            answer = customer.post(f"{path}/{step}")
        assert answer.status_code == 200, answer.text
    assert data_of(customer, path)["status"] == status
    return path


def data_of(customer: Customer, path: str) -> dict[str, Any]:
    data: dict[str, Any] = customer.get(path).json()["data"]
    return data


def trail(services: Services, path: str) -> list[Any]:
    return services.catalog.audit.of(path.rpartition("/")[2])


@pytest.mark.parametrize(("status", "trigger"), list(ALLOWED))
def test_trigger_does_what_the_table_says(
    customer: Customer, project: str, services: Services, status: str, trigger: str
) -> None:
    path = an_experiment_that_is(customer, project, status)
    answer = customer.post(f"{path}/{trigger}")
    assert answer.status_code == 200
    said = answer.json()["data"]
    assert said["status"] == ALLOWED[status, trigger]
    # The end says besides how many outcomes it loses.
    assert said.pop("open_visitors", None) == (0 if trigger == "complete" else None)
    assert data_of(customer, path) == said
    assert trail(services, path)[-1].changes["status"] == [status, ALLOWED[status, trigger]]


@pytest.mark.parametrize("status", STEPS)
def test_trigger_and_update_do_nothing_that_the_tables_do_not_say(
    customer: Customer, project: str, services: Services, status: str
) -> None:
    path = an_experiment_that_is(customer, project, status)
    before, entries = data_of(customer, path), len(trail(services, path))
    refused = [trigger for trigger in TRIGGERS if (status, trigger) not in ALLOWED]
    assert len(refused) >= 3
    for trigger in refused:
        message = error_of(customer.post(f"{path}/{trigger}"), 422, "invalid_transition")["message"]
        assert status in message
        assert data_of(customer, path) == before
        assert len(trail(services, path)) == entries
    # An update is for what neither runs nor has ended.
    answer = customer.patch(path, {"hypothesis": "Because."})
    if status in REFUSED_UPDATES:
        error_of(answer, 422, REFUSED_UPDATES[status])
        assert data_of(customer, path) == before
    else:
        assert answer.json()["data"]["hypothesis"] == "Because."
        assert answer.json()["data"]["status"] == status


@pytest.mark.parametrize("status", STEPS)
def test_only_a_draft_can_be_deleted(
    customer: Customer, project: str, services: Services, status: str
) -> None:
    path = an_experiment_that_is(customer, project, status)
    before = data_of(customer, path)
    answer = customer.call("DELETE", path)
    if status != "draft":
        error_of(answer, 422, "not_draft")
        assert data_of(customer, path) == before
        return
    assert (answer.status_code, answer.content) == (204, b"")
    error_of(customer.get(path), 404, "not_found")
    error_of(customer.call("DELETE", path), 404, "not_found")
    assert trail(services, path)[-1].changes["name"] == [before["name"], None]
    assert customer.get(f"{project}/experiments").json()["meta"]["total"] == 0


def test_test_key_of_a_deleted_draft_is_free_again(customer: Customer, project: str) -> None:
    customer.call("DELETE", customer.an_experiment(project))
    assert data_of(customer, customer.an_experiment(project))["test_key"] == "checkout-button"


def test_archived_experiment_leaves_the_listing_and_keeps_its_results(
    customer: Customer, project: str
) -> None:
    path = an_experiment_that_is(customer, project, "completed")
    assert customer.get(f"{project}/experiments").json()["meta"]["total"] == 1
    customer.post(f"{path}/archive")
    assert customer.get(f"{project}/experiments").json()["meta"]["total"] == 0
    assert customer.get(f"{project}/experiments", status="archived").json()["meta"]["total"] == 1
    assert customer.get(f"{path}/results").status_code == 200


def at_once(*calls: Callable[[], httpx2.Response]) -> list[httpx2.Response]:
    """Make the calls at the same moment, each from its own thread."""
    together = Barrier(len(calls))

    def make(call: Callable[[], httpx2.Response]) -> httpx2.Response:
        together.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(make, calls))


@pytest.mark.parametrize(("status", "trigger"), list(ALLOWED))
def test_of_callers_pulling_one_trigger_at_once_one_wins(
    customer: Customer, project: str, services: Services, status: str, trigger: str
) -> None:
    path = an_experiment_that_is(customer, project, status)
    entries = len(trail(services, path))
    answers = at_once(*[lambda: customer.post(f"{path}/{trigger}")] * CALLERS)
    assert sorted(answer.status_code for answer in answers) == [200, *[422] * (CALLERS - 1)]
    for answer in answers:
        if answer.status_code == 422:
            error_of(answer, 422, "invalid_transition")
    assert len(trail(services, path)) == entries + 1


def test_draft_is_either_started_or_deleted(customer: Customer, project: str) -> None:
    for _ in range(5):
        path = customer.an_experiment(project)
        started, deleted = at_once(
            lambda path=path: customer.post(f"{path}/start"),  # type: ignore[misc] # mypy knows no defaults here
            lambda path=path: customer.call("DELETE", path),  # type: ignore[misc] # same
        )
        assert (started.status_code, deleted.status_code) in {(200, 422), (404, 204)}
        status = customer.get(path).json().get("data", {}).get("status")
        assert status == ("running" if started.status_code == 200 else None)


def test_paused_experiment_names_every_locked_field_at_once(customer: Customer, project: str) -> None:
    path = an_experiment_that_is(customer, project, "paused")
    before = data_of(customer, path)
    control, treatment = before["variants"]
    (goal,) = before["goals"]
    body = {
        "type": "redirect",
        "url": "https://other.example",
        "url_match_type": "contains",
        "url_rules": [{"type": "exclude", "match_type": "exact", "value": "https://shop.example/x"}],
        "variants": [control, {**treatment, "changes": []}, {"name": "New"}],
        "goals": [
            {**goal, "goal_type": "revenue", "config": {"event_name": "signup"}, "is_primary": False},
            {"name": "Other", "goal_type": "custom_event", "is_primary": True, "config": {"event_name": "x"}},
        ],
        "name": "",
    }
    error = error_of(customer.patch(path, body), 422, "field_locked")
    assert {
        "type",
        "url",
        "url_match_type",
        "url_rules",
        "variants[1].changes",
        "variants[2]",
        "goals[0].goal_type",
        "goals[0].config",
        "goals[0].is_primary",
        "name",
    } <= set(fields_of(error))
    assert len(fields_of(error)) == len(set(fields_of(error)))
    assert data_of(customer, path) == before


def rules_of_the_verdict(before: dict[str, Any]) -> dict[str, Any]:
    """A change of everything that judges what was counted."""
    control, treatment = before["variants"]
    (goal,) = before["goals"]
    return {
        "confidence_level": 90,
        "analysis_method": "bayesian",
        "traffic_strategy": "bandit",
        "statistics": {"minimum_effect_percent": 3},
        "variants": [{**control, "is_control": False}, {**treatment, "is_control": True}],
        "goals": [{**goal, "config": {**goal["config"], "direction": "decrease"}}],
    }


def a_paused_experiment_with_a_visitor(customer: Customer, project: str) -> str:
    """Pause an experiment right after its first exposure was acknowledged."""
    path = an_experiment_that_is(customer, project, "running")
    shop = Shop.opened_by(customer, project, customer.an_experiment(project))
    running = data_of(customer, path)
    seen = shop.exposure(experiment_id=running["id"], variant_id=running["variants"][0]["id"])
    assert shop.post("/api/v1/sdk/track", {"batch": [seen]}).json()["accepted"] == 1
    assert customer.post(f"{path}/pause").status_code == 200
    return path


def test_paused_experiment_keeps_the_rules_of_its_verdict(customer: Customer, project: str) -> None:
    path = a_paused_experiment_with_a_visitor(customer, project)
    before = data_of(customer, path)
    error = error_of(customer.patch(path, rules_of_the_verdict(before)), 422, "field_locked")
    assert sorted(fields_of(error)) == [
        "analysis_method",
        "confidence_level",
        "goals[0].config.direction",
        "statistics",
        "traffic_strategy",
        "variants[0].is_control",
        "variants[1].is_control",
    ]
    assert data_of(customer, path) == before


def test_an_experiment_that_was_paused_before_anyone_was_counted_can_change_them(
    customer: Customer, project: str
) -> None:
    path = an_experiment_that_is(customer, project, "paused")
    body = rules_of_the_verdict(data_of(customer, path))
    after = customer.patch(path, body)
    assert after.status_code == 200, after.text
    for name in ("confidence_level", "analysis_method", "variants", "goals"):
        assert after.json()["data"][name] == body[name]
    assert after.json()["data"]["statistics"]["minimum_effect_percent"] == 3
    # What the contract locks of every paused experiment stays locked.
    locked = {"url": "https://other.example", "goals": [{**body["goals"][0], "config": {"event_name": "x"}}]}
    error = error_of(customer.patch(path, locked), 422, "field_locked")
    assert {"url", "goals[0].config"} <= set(fields_of(error))
    assert customer.post(f"{path}/resume").status_code == 200


@pytest.mark.parametrize("part", ["variants", "goals"])
def test_paused_experiment_keeps_every_part_that_visitors_have_seen(
    customer: Customer, project: str, part: str
) -> None:
    path = an_experiment_that_is(customer, project, "paused")
    before = data_of(customer, path)
    # Sent without their ids they would be new ones, and the old ones gone.
    nameless = [{key: value for key, value in one.items() if key != "id"} for one in before[part]]
    for sent in (nameless, before[part][1:]):
        error_of(customer.patch(path, {part: sent}), 422, "field_locked")
    assert data_of(customer, path) == before


def test_paused_experiment_takes_back_what_it_gave_out(customer: Customer, project: str) -> None:
    path = an_experiment_that_is(customer, project, "paused")
    before = data_of(customer, path)
    after = customer.patch(path, before).json()["data"]
    assert after == {**before, "updated_at": after["updated_at"]}


def test_paused_experiment_can_gain_a_goal_that_is_not_primary(customer: Customer, project: str) -> None:
    path = an_experiment_that_is(customer, project, "paused")
    (goal,) = data_of(customer, path)["goals"]
    signup = {"name": "Signup", "goal_type": "custom_event", "config": {"event_name": "signup"}}
    after = customer.patch(path, {"goals": [goal, signup]}).json()["data"]
    assert [one["name"] for one in after["goals"]] == ["Purchase", "Signup"]
    assert after["goals"][0] == goal
