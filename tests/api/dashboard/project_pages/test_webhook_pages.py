"""Pages of webhooks: a secret shown once, events as boxes, deliveries with what came of them."""

import re

from fastapi.testclient import TestClient

from pipeline.store.catalog.webhooks.webhook_records import EVENTS
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import fields_of, send

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{20,}")
HOSTILE = "<script>alert(1)</script>"


def test_a_webhook_is_created_once_and_its_secret_shown_once(
    browser: TestClient, customer: Customer, project: str
) -> None:
    assert "No webhook yet" in browser.get(f"{project}/webhooks").text
    page = browser.get(f"{project}/webhooks/new")
    none = {f"events.{event.replace('.', '-')}": None for event in EVENTS}
    refused = send(browser, page, {"url": "nowhere", "description": HOSTILE, **none})
    assert refused.status_code == 422
    for field in ("url", "events"):
        assert f'id="problem-{field}"' in refused.text, field
    assert HOSTILE not in refused.text
    typed: dict[str, str | None] = {"url": "https://shop.example/hook", "events.experiment-decision": "on"}
    answers = [send(browser, refused, typed) for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 200]
    (secret,) = {found for one in answers for found in SECRET.findall(one.text)}
    (webhook,) = customer.get(f"{project}/webhooks").json()["data"]
    assert (webhook["events"], webhook["enabled"]) == (["experiment.decision"], True)
    for path in (f"{project}/webhooks", f"{project}/webhooks/{webhook['id']}"):
        text = browser.get(path).text
        assert secret not in text
        assert HOSTILE not in text


def test_a_webhook_is_tested_switched_off_and_deleted(
    browser: TestClient, customer: Customer, project: str
) -> None:
    path = customer.a_webhook(project)
    page = browser.get(path)
    token = {"form_token": fields_of(page)["form_token"]}
    assert browser.post(f"{path}/test", data=token).status_code == 303
    assert "webhook.test" in browser.get(path).text
    told = send(browser, page, {"enabled": None, "events.experiment-started": None})
    assert told.status_code == 200
    assert "gives up the messages that wait" in told.text
    assert send(browser, told, {}).status_code == 303
    webhook = customer.data_of(path)
    assert webhook["disabled_reason"] == "on_request"
    assert webhook["events"] == [event for event in EVENTS if event != "experiment.started"]
    text = browser.get(path).text
    assert "Switched off" in text
    assert f'action="{path}/test"' not in text
    assert browser.post(f"{path}/test", data=token).status_code == 400
    # A tab that was opened before loses nothing of that.
    assert send(browser, page, {"enabled": "on", "description": "Late"}).status_code == 412
    asked = browser.get(f"{path}/delete")
    assert send(browser, asked, {}).status_code == 303
    assert browser.get(path).status_code == 404


def test_a_secret_is_replaced_after_a_confirmation(
    browser: TestClient, customer: Customer, project: str
) -> None:
    path = customer.a_webhook(project)
    asked = browser.get(f"{path}/rotate")
    assert customer.data_of(path)["previous_secret_until"] is None
    shown = [send(browser, asked, {}) for _ in range(2)]
    assert len({found for one in shown for found in SECRET.findall(one.text)}) == 1
    assert customer.data_of(path)["previous_secret_until"] is not None
    assert "signed by the former secret, too" in browser.get(path).text


def test_a_reading_key_sees_the_list_and_no_forms(customer: Customer, project: str, sign_in: SignIn) -> None:
    path = customer.a_webhook(project)
    reader = sign_in(customer.with_key("projects:read").token)
    text = reader.get(f"{project}/webhooks").text
    assert "https://shop.example/hooks" in text
    assert "/webhooks/" not in text
    for step in ("test", "delete", "rotate"):
        assert reader.post(f"{path}/{step}", data={"form_token": "0" * 64}).status_code == 403
    assert reader.get(path).status_code == 403
