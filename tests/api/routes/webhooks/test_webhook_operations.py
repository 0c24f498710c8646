"""Webhooks over REST: created, changed, disabled and deleted, and their secrets shown once."""

import base64
from typing import Any

import pytest

from pipeline.store.catalog.webhooks.webhook_records import EVENTS
from pipeline.store.catalog.webhooks.webhook_repository import MOST_WEBHOOKS
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

URL = "https://shop.example/hooks"


def created(customer: Customer, project: str, **fields: Any) -> dict[str, Any]:
    answer = customer.post(f"{project}/webhooks", {"url": URL, **fields})
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def test_the_secret_is_shown_once(customer: Customer, project: str) -> None:
    data = created(customer, project, description="Our chat")
    webhook, secret = data["webhook"], data["secret"]
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    path = f"{project}/webhooks/{webhook['id']}"
    assert customer.data_of(path) == webhook
    assert customer.get(f"{project}/webhooks").json()["data"] == [webhook]
    assert (webhook["events"], webhook["enabled"], webhook["disabled_reason"]) == ([*EVENTS], True, None)
    changed = customer.patch(path, {"description": None})
    for answer in (customer.get(path), customer.get(f"{project}/webhooks"), changed):
        assert "whsec_" not in answer.text
        assert secret not in answer.text
    entries = customer.get("/account/audit", subject_id=webhook["id"])
    assert secret not in entries.text
    assert [(entry["subject_type"], entry["action"]) for entry in entries.json()["data"]] == [
        ("webhook", "changed"),
        ("webhook", "created"),
    ]


def test_a_secret_is_stored_encrypted(customer: Customer, project: str) -> None:
    data = created(customer, project)
    stored = customer.services.catalog.webhooks.get(project.rpartition("/")[2], data["webhook"]["id"])
    assert data["secret"].encode() not in stored.secret
    assert customer.services.cipher.decrypt(stored.secret) == data["secret"].encode()


def test_a_rotated_secret_is_another_one_and_audited(customer: Customer, project: str) -> None:
    data = created(customer, project)
    path = f"{project}/webhooks/{data['webhook']['id']}"
    rotated = customer.post(f"{path}/rotate_secret").json()["data"]
    assert rotated["secret"] != data["secret"]
    assert rotated["webhook"]["previous_secret_until"] is not None
    at_once = customer.post(f"{path}/rotate_secret", {"grace_period_hours": 0}).json()["data"]
    assert at_once["webhook"]["previous_secret_until"] is None
    error = error_of(
        customer.post(f"{path}/rotate_secret", {"grace_period_hours": -1}), 422, "validation_error"
    )
    assert fields_of(error) == ["grace_period_hours"]
    entry = customer.get("/account/audit", subject_id=data["webhook"]["id"]).json()["data"][0]
    assert entry["changes"] == {"secret": [None, "replaced"]}


def test_a_webhook_is_disabled_and_enabled(customer: Customer, project: str) -> None:
    path = f"{project}/webhooks/{created(customer, project)['webhook']['id']}"
    disabled = customer.patch(path, {"enabled": False}).json()["data"]
    assert (disabled["enabled"], disabled["disabled_reason"]) == (False, "on_request")
    assert customer.data_of(path)["disabled_reason"] == "on_request"
    # Another change leaves it as it is.
    assert not customer.patch(path, {"events": ["experiment.decision"]}).json()["data"]["enabled"]
    enabled = customer.patch(path, {"enabled": True}).json()["data"]
    assert (enabled["enabled"], enabled["events"]) == (True, ["experiment.decision"])
    assert customer.data_of(path)["enabled"]


def test_a_deleted_webhook_is_gone_and_audited(customer: Customer, project: str) -> None:
    webhook = created(customer, project)["webhook"]
    path = f"{project}/webhooks/{webhook['id']}"
    assert customer.call("DELETE", path).status_code == 204
    error_of(customer.get(path), 404, "not_found")
    error_of(customer.call("DELETE", path), 404, "not_found")
    entry = customer.get("/account/audit", subject_id=webhook["id"]).json()["data"][0]
    assert entry["action"] == "deleted"


def test_a_webhook_is_found_in_its_project_only(customer: Customer, project: str) -> None:
    other = customer.a_project()
    webhook = created(customer, project)["webhook"]
    error_of(customer.get(f"{other}/webhooks/{webhook['id']}"), 404, "not_found")
    error_of(customer.patch(f"{other}/webhooks/{webhook['id']}", {"enabled": False}), 404, "not_found")
    assert customer.get(f"{other}/webhooks").json()["data"] == []


def test_a_project_has_a_limited_number(customer: Customer, project: str) -> None:
    for _ in range(MOST_WEBHOOKS):
        created(customer, project)
    error = error_of(customer.post(f"{project}/webhooks", {"url": URL}), 422, "validation_error")
    assert "10 webhooks" in error["details"][0]["message"]
    assert customer.get(f"{project}/webhooks").json()["meta"]["total"] == MOST_WEBHOOKS


def test_everything_wrong_is_named_at_once(customer: Customer, project: str) -> None:
    body = {"url": "shop", "events": ["experiment.exploded"], "enabled": 1, "colour": "red"}
    error = error_of(customer.post(f"{project}/webhooks", body), 422, "validation_error")
    assert {field.partition("[")[0] for field in fields_of(error)} == set(body)
    error = error_of(customer.post(f"{project}/webhooks", {"events": []}), 422, "validation_error")
    assert set(fields_of(error)) == {"url", "events"}


@pytest.mark.parametrize(
    "url", ["http://shop.example/", "https://127.0.0.1/", "https://localhost/", "https://a:b@shop.example/"]
)
def test_an_address_that_is_not_permitted_is_refused(customer: Customer, project: str, url: str) -> None:
    error = error_of(customer.post(f"{project}/webhooks", {"url": url}), 422, "validation_error")
    assert fields_of(error) == ["url"]
    path = f"{project}/webhooks/{created(customer, project)['webhook']['id']}"
    assert fields_of(error_of(customer.patch(path, {"url": url}), 422, "validation_error")) == ["url"]
    assert customer.data_of(path)["url"] == URL


def test_a_created_webhook_is_replayed_with_its_secret(customer: Customer, project: str) -> None:
    headers = {"Idempotency-Key": "create-webhook"}
    first, second = (
        customer.call("POST", f"{project}/webhooks", json={"url": URL}, headers=headers).json()["data"]
        for _ in range(2)
    )
    assert first == second
    assert customer.get(f"{project}/webhooks").json()["meta"]["total"] == 1
