"""Notification channels over REST: created, changed, tested and deleted; destinations stay secret."""

import logging
from typing import Any

import pytest
from cryptography.fernet import InvalidToken

from api.services import Services
from pipeline.store.catalog.webhooks.webhook_records import CHANNEL_EVENTS
from pipeline.store.catalog.webhooks.webhook_repository import MOST_WEBHOOKS
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

SECRET = "T024BE7LD/B0ABCDEF/s3cr3tT0ken"  # noqa: S105 - of the tests
SLACK = {"kind": "slack", "url": f"https://hooks.slack.com/services/{SECRET}"}
TEAMS = {"kind": "teams", "url": f"https://prod-1.logic.azure.com/workflows/1?sig={SECRET}"}
EMAIL = {"kind": "email", "addresses": ["grace.hopper@acme.example", "tests@acme.example"]}


@pytest.fixture
def mail(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service with a mail server, which no message reaches."""
    for name, value in {"smtp_host": "mail.invalid", "smtp_from": "truelift@shop.example"}.items():
        monkeypatch.setitem(services.settings.__dict__, name, value)


def created(customer: Customer, project: str, body: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = customer.post(f"{project}/notification_channels", {**body, **fields})
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


@pytest.mark.usefixtures("mail")
@pytest.mark.parametrize(
    ("body", "masked"),
    [
        (SLACK, "https://hooks.slack.com/…"),
        (TEAMS, "https://prod-1.logic.azure.com/…"),
        (EMAIL, "g…@acme.example, t…@acme.example"),
    ],
    ids=["slack", "teams", "email"],
)
def test_a_destination_is_masked_everywhere(
    customer: Customer,
    project: str,
    caplog: pytest.LogCaptureFixture,
    body: dict[str, Any],
    masked: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    channel = created(customer, project, body)
    path = f"{project}/notification_channels/{channel['id']}"
    assert (channel["destination"], channel["events"]) == (masked, [*CHANNEL_EVENTS])
    assert customer.data_of(path) == channel
    answers = [
        customer.get(f"{project}/notification_channels"),
        customer.patch(path, {"description": "Ours", "digest_hour": 8}),
        customer.patch(path, {key: value for key, value in body.items() if key != "kind"}),
        customer.post(f"{path}/test"),
        customer.get(f"{path}/deliveries"),
        customer.get("/account/audit"),
    ]
    assert {answer.status_code for answer in answers} <= {200, 202}
    stored = customer.services.catalog.notification_channels.get(project.rpartition("/")[2], channel["id"])
    kept = repr(stored).encode() + b"".join(
        file.read_bytes() for file in customer.services.settings.data_dir.glob("catalog.sqlite3*")
    )
    for secret in ["grace.hopper", "tests@"] if body is EMAIL else [SECRET]:
        assert secret.encode() not in kept
        assert secret not in caplog.text
        assert all(secret not in answer.text for answer in answers)
        assert secret in customer.services.cipher.decrypt(stored.secret).decode()


def test_changes_are_audited_and_a_destination_only_as_replaced(customer: Customer, project: str) -> None:
    channel = created(customer, project, SLACK)
    path = f"{project}/notification_channels/{channel['id']}"
    customer.patch(path, {"digest_hour": 7})
    customer.patch(path, {"url": f"{SLACK['url']}2"})
    customer.post(f"{path}/test")
    assert customer.call("DELETE", path).status_code == 204
    error_of(customer.get(path), 404, "not_found")
    entries = customer.get("/account/audit", subject_id=channel["id"]).json()["data"]
    assert {entry["subject_type"] for entry in entries} == {"notification_channel"}
    assert [entry["action"] for entry in entries] == ["deleted", "tested", "changed", "changed", "created"]
    assert entries[2]["changes"] == {"secret": [None, "replaced"]}
    assert entries[3]["changes"] == {"digest_hour": [None, 7]}


def test_a_channel_is_no_webhook_and_of_its_project_only(customer: Customer, project: str) -> None:
    channel = created(customer, project, SLACK)
    assert customer.get(f"{project}/webhooks").json()["data"] == []
    for path in (f"{project}/webhooks", f"{customer.a_project()}/notification_channels"):
        error_of(customer.get(f"{path}/{channel['id']}"), 404, "not_found")
        error_of(customer.call("DELETE", f"{path}/{channel['id']}"), 404, "not_found")
    webhook = customer.a_webhook(project).rpartition("/")[2]
    error_of(customer.get(f"{project}/notification_channels/{webhook}"), 404, "not_found")


def test_a_disabled_channel_takes_no_test(customer: Customer, project: str) -> None:
    path = f"{project}/notification_channels/{created(customer, project, SLACK, enabled=False)['id']}"
    assert "enable it first" in error_of(customer.post(f"{path}/test"), 400, "invalid_request")["message"]
    assert customer.patch(path, {"enabled": True}).json()["data"]["disabled_reason"] is None
    assert customer.post(f"{path}/test").json()["data"]["message"]["data"]["title"].startswith("Shop: ")


@pytest.mark.usefixtures("mail")
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"kind": "sms"}, {"kind"}),
        ({"kind": "slack"}, {"url"}),
        ({"kind": "slack", "url": "https://127.0.0.1/"}, {"url"}),
        ({"kind": "teams", "url": "http://shop.example/"}, {"url"}),
        ({**SLACK, "addresses": ["a@b.example"]}, {"addresses"}),
        ({"kind": "email", "addresses": []}, {"addresses"}),
        ({**EMAIL, "url": "https://shop.example/"}, {"url"}),
        ({"kind": "email", "addresses": ["a@b.example\r\nBcc: eve@evil.example"]}, {"addresses[0]"}),
        ({"kind": "email", "addresses": ["a@b.example,eve@evil.example"]}, {"addresses[0]"}),
        ({"kind": "email", "addresses": ["Ada <ada@b.example>"]}, {"addresses[0]"}),
        ({"kind": "email", "addresses": ["ädä@b.example"]}, {"addresses[0]"}),
        (
            {**SLACK, "digest_hour": 24, "events": ["exploded"], "secret": "x"},
            {"digest_hour", "events[0]", "secret"},
        ),
    ],
)
def test_what_is_wrong_is_named(
    customer: Customer, project: str, body: dict[str, Any], fields: set[str]
) -> None:
    error = error_of(customer.post(f"{project}/notification_channels", body), 422, "validation_error")
    assert set(fields_of(error)) == fields


def test_the_kind_stays_and_the_number_is_limited(customer: Customer, project: str) -> None:
    for _ in range(MOST_WEBHOOKS):
        channel = created(customer, project, SLACK)
    error = error_of(customer.post(f"{project}/notification_channels", SLACK), 422, "validation_error")
    assert "10 notification channels" in error["details"][0]["message"]
    path = f"{project}/notification_channels/{channel['id']}"
    assert fields_of(error_of(customer.patch(path, TEAMS), 422, "validation_error")) == ["kind"]
    assert customer.post(f"{project}/webhooks", {"url": "https://shop.example/"}).status_code == 201


def test_without_a_mail_server_there_is_no_channel_by_e_mail(customer: Customer, project: str) -> None:
    error = error_of(customer.post(f"{project}/notification_channels", EMAIL), 422, "validation_error")
    assert "TRUELIFT_SMTP_HOST" in error["details"][0]["message"]


def test_the_addresses_of_another_key_are_asked_for(
    customer: Customer, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = created(customer, project, SLACK)
    path = f"{project}/notification_channels/{channel['id']}"
    services = customer.services
    monkeypatch.setattr(type(services.cipher), "decrypt", _refuse)
    error = error_of(customer.patch(path, {"digest_hour": 8}), 422, "validation_error")
    assert fields_of(error) == ["url"]
    assert customer.patch(path, {"digest_hour": 8, "url": SLACK["url"]}).status_code == 200


def _refuse(*_: Any) -> bytes:
    raise InvalidToken
