"""Pages of notification channels: destinations that are never shown again, and what came of messages."""

import pytest
from fastapi.testclient import TestClient

from api.services import Services
from pipeline.store.catalog.webhooks.webhook_records import CHANNEL_EVENTS
from pipeline.webhooks.webhook_messages import deliver_messages
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import fields_of, send
from tests.waiting import wait_until

SECRET = "s3cr3tT0ken"  # noqa: S105 - of the tests
SLACK = f"https://hooks.slack.example/services/{SECRET}"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def channels(project: str) -> str:
    """The path of the list."""
    return f"{project}/notification_channels"


def services_of(customer: Customer) -> Services:
    assert isinstance(customer.client, TestClient)
    services: Services = customer.client.app.state.services  # type: ignore[attr-defined]  # of Starlette
    return services


def test_a_channel_is_created_once_and_its_address_never_shown(
    browser: TestClient, customer: Customer, channels: str
) -> None:
    assert "No channel yet" in browser.get(channels).text
    page = browser.get(f"{channels}/new?kind=slack")
    nothing = {f"events.{event}": None for event in CHANNEL_EVENTS}
    refused = send(browser, page, {"url": "", "description": HOSTILE, **nothing})
    assert refused.status_code == 422
    assert 'id="problem-url"' in refused.text
    assert HOSTILE not in refused.text
    typed: dict[str, str | None] = {"url": SLACK, "events.data_broken": "on", "digest_hour": "8"}
    answers = [send(browser, refused, typed) for _ in range(2)]
    assert [one.status_code for one in answers] == [303, 303]
    (channel,) = customer.get(channels).json()["data"]
    assert (channel["kind"], channel["events"], channel["digest_hour"]) == ("slack", ["data_broken"], 8)
    path = f"{channels}/{channel['id']}"
    for text in (browser.get(channels).text, browser.get(path).text):
        assert "https://hooks.slack.example/…" in text
        assert SECRET not in text
        assert HOSTILE not in text
    assert "data broken" in browser.get(channels).text
    assert "a digest at 8:00" in browser.get(channels).text


def test_a_form_without_an_address_keeps_it_and_one_with_an_address_replaces_it(
    browser: TestClient, customer: Customer, project: str
) -> None:
    path = customer.a_channel(project, url=SLACK, digest_hour=8)
    services = services_of(customer)

    def destination() -> str:
        found = services.catalog.notification_channels.get(
            project.rpartition("/")[2], path.rpartition("/")[2]
        )
        return services.cipher.decrypt(found.secret).decode()

    first = browser.get(path)
    assert fields_of(first)["url"] == ""
    assert send(browser, first, {"description": "Growth", "digest_hour": ""}).status_code == 303
    assert destination() == SLACK
    assert customer.data_of(path)["digest_hour"] is None
    second = browser.get(path)
    assert send(browser, second, {"url": "http://127.0.0.1/x"}).status_code == 422
    assert send(browser, second, {"url": f"{SLACK}2"}).status_code == 303
    assert destination() == f"{SLACK}2"
    # A tab that was opened before, in which nothing differs from what is saved, loses nothing.
    assert send(browser, second, {"description": "Late"}).status_code == 303
    assert (destination(), customer.data_of(path)["description"]) == (f"{SLACK}2", "Late")
    assert send(browser, first, {"description": "Later"}).status_code == 412


def test_a_test_message_says_what_is_wrong_and_a_channel_is_switched_off_and_deleted(
    browser: TestClient, customer: Customer, project: str
) -> None:
    path = customer.a_channel(project, url=f"https://hooks.invalid/{SECRET}")
    page = browser.get(path)
    token = {"form_token": fields_of(page)["form_token"]}
    assert browser.post(f"{path}/test", data=token).status_code == 303
    waiting = browser.get(path).text
    assert "a test message of Truelift" in waiting
    assert "Look again" in waiting
    deliver_messages(services_of(customer))
    # The job of the service may be at it, too.
    wait_until(lambda: "the name of the endpoint cannot be resolved" in browser.get(path).text)
    assert SECRET not in browser.get(path).text
    asked = send(browser, page, {"enabled": None})
    assert "gives up the messages that wait" in asked.text
    assert send(browser, asked, {}).status_code == 303
    text = browser.get(path).text
    assert "Switched off" in text
    assert "Given up" in text
    assert f'action="{path}/test"' not in text
    assert browser.post(f"{path}/test", data=token).status_code == 400
    assert send(browser, browser.get(f"{path}/delete"), {}).status_code == 303
    assert browser.get(path).status_code == 404


def test_e_mail_needs_a_mail_server_and_says_so(
    browser: TestClient, customer: Customer, channels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser.get(f"{channels}/new?kind=email")
    typed: dict[str, str | None] = {"addresses": "grace@acme.example\r\nada@acme.example\r\n"}
    refused = send(browser, page, typed)
    assert refused.status_code == 422
    assert "TRUELIFT_SMTP_HOST" in refused.text
    settings = services_of(customer).settings
    for name, value in {"smtp_host": "mail.invalid", "smtp_from": "truelift@shop.example"}.items():
        monkeypatch.setitem(settings.__dict__, name, value)
    bad = send(browser, page, {"addresses": "nobody"})
    assert 'id="problem-addresses"' in bad.text
    assert send(browser, bad, typed).status_code == 303
    (channel,) = customer.get(channels).json()["data"]
    assert channel["destination"] == "g…@acme.example, a…@acme.example"
    text = browser.get(f"{channels}/{channel['id']}").text
    assert "grace" not in text
    # What is none of the kinds is said as the first of them, and refused by the API.
    other = send(browser, browser.get(f"{channels}/new?kind={HOSTILE}"), {"url": SLACK})
    assert (other.status_code, HOSTILE in other.text) == (422, False)


def test_a_reading_key_sees_the_list_and_no_forms(customer: Customer, project: str, sign_in: SignIn) -> None:
    path = customer.a_channel(project)
    reader = sign_in(customer.with_key("projects:read").token)
    text = reader.get(f"{project}/notification_channels").text
    assert "https://hooks.slack.example/…" in text
    assert "/notification_channels/" not in text
    for step in ("test", "delete"):
        assert reader.post(f"{path}/{step}", data={"form_token": "0" * 64}).status_code == 403
    assert reader.get(path).status_code == 403
