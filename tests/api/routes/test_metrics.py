"""Metrics of a project over the API, and experiments whose goals they define."""

from typing import Any

from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

PAID = {"event_name": "paid"}


def a_goal_of(metric: str) -> dict[str, Any]:
    return {"metric_id": metric.rpartition("/")[2]}


def test_a_metric_is_created_listed_changed_and_deleted(customer: Customer, project: str) -> None:
    metric = customer.a_metric(project, description="New accounts.")
    data = customer.data_of(metric)
    assert (data["name"], data["description"], data["version"]) == ("Sign-ups", "New accounts.", 1)
    customer.a_metric(project, name="Orders")
    listed = customer.get(f"{project}/metrics", per_page=1).json()
    assert [one["name"] for one in listed["data"]] == ["Orders"]
    assert listed["meta"] == {"page": 1, "per_page": 1, "total": 2}
    changed = customer.patch(metric, {"config": PAID}).json()["data"]
    assert changed == {**data, "config": PAID, "version": 2, "updated_at": changed["updated_at"]}
    assert customer.call("DELETE", metric).status_code == 204
    error_of(customer.get(metric), 404, "not_found")


def test_a_name_that_is_taken_and_a_wrong_config_are_refused(customer: Customer, project: str) -> None:
    metric = customer.a_metric(project)
    body = {"name": "Sign-ups", "goal_type": "custom_event", "config": PAID}
    refused = error_of(customer.post(f"{project}/metrics", body), 422, "validation_error")
    assert set(fields_of(refused)) == {"name"}
    refused = error_of(customer.patch(metric, {"goal_type": "click"}), 422, "validation_error")
    assert set(fields_of(refused)) == {"config.selector", "config.event_name"}


def test_a_draft_follows_its_metric_until_it_starts(customer: Customer, project: str) -> None:
    metric = customer.a_metric(project)
    draft, started = (customer.an_experiment(project, goals=[a_goal_of(metric)]) for _ in range(2))
    assert customer.data_of(draft)["goals"][0]["name"] == "Sign-ups"
    customer.post(f"{started}/start")
    customer.patch(metric, {"config": PAID})
    goals = {path: customer.data_of(path)["goals"][0] for path in (draft, started)}
    assert (goals[draft]["config"], goals[draft]["metric_version"]) == (PAID, 2)
    assert (goals[started]["config"], goals[started]["metric_version"]) == ({"event_name": "sign_up"}, 1)
    refused = error_of(customer.call("DELETE", metric), 422, "metric_in_use")
    assert "send null as the metric_id" in refused["message"]
    detached = {"goals": [{"id": goals[draft]["id"], "metric_id": None}]}
    assert customer.patch(draft, detached).json()["data"]["goals"][0]["config"] == PAID
    assert customer.call("DELETE", metric).status_code == 204
    assert customer.data_of(started)["goals"][0] == goals[started]


def test_a_metric_of_another_project_defines_no_goal(customer: Customer, project: str) -> None:
    other = customer.a_metric(customer.a_project())
    body = {"name": "Test", "goals": [a_goal_of(other)]}
    refused = error_of(customer.post(f"{project}/experiments", body), 422, "validation_error")
    assert "goals[0].metric_id" in fields_of(refused)
    error_of(customer.get(f"{project}/metrics/{a_goal_of(other)['metric_id']}"), 404, "not_found")


def test_a_repeated_creation_makes_one_metric(customer: Customer, project: str) -> None:
    body = {"name": "Orders", "goal_type": "revenue"}
    first, second = (
        customer.call("POST", f"{project}/metrics", json=body, headers={"Idempotency-Key": "one"})
        for _ in range(2)
    )
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"
    assert customer.get(f"{project}/metrics").json()["meta"]["total"] == 1
