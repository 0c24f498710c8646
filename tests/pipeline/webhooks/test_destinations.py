"""Messages to each kind of destination, over real connections: delivered once, refused in part, given up."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from jsonschema import Draft202012Validator

from engine.design.project import Project
from pipeline.store.catalog.webhooks.delivery_repository import Deliveries
from pipeline.store.catalog.webhooks.webhook_records import Delivery, Webhook
from pipeline.webhooks.webhook_messages import TRIED_FOR, WAITS
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.webhooks.channel_schemas import SLACK, TEAMS
from tests.pipeline.webhooks.mail_server import MailServer, a_mail_server
from tests.pipeline.webhooks.receiving_endpoint import Endpoint
from tests.pipeline.webhooks.told_channels import ADA, BO, CY, a_channel, tell
from tests.pipeline.webhooks.told_webhooks import SECOND, deliver, deliveries


@pytest.fixture
def mail_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    with a_mail_server() as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(f"TRUELIFT_{name.upper()}", str(value))
        yield server


@pytest.fixture
def project(mail_server: MailServer, service: RestartableService) -> Project:
    # The service reads the settings of the mail server at its start.
    assert mail_server.port
    service.restart()
    return service.store.add_project()


def last(service: RestartableService, channel: Webhook) -> Delivery:
    (*_, found) = deliveries(service, channel)
    return found


def state(service: RestartableService, channel: Webhook) -> str | None:
    found = service.store.catalog.notification_channels.get(channel.project_id, channel.id)
    return found.disabled_reason


def test_every_kind_is_told_once_in_its_form(
    service: RestartableService, project: Project, endpoint: Endpoint, mail_server: MailServer
) -> None:
    channels = [a_channel(service, project, kind, url=endpoint.url) for kind in ("slack", "teams")]
    channels.append(a_channel(service, project, "email"))
    for _ in range(2):
        tell(service, project, "Shop: <night> failed", key="night 1")
        deliver(service)
    service.restart()
    deliver(service)
    ids = [last(service, channel).id for channel in channels]
    assert [last(service, channel).status for channel in channels] == ["delivered"] * 3
    bodies = [json.loads(received.body) for received in endpoint.received]
    slack, teams = sorted(bodies, key=lambda body: "blocks" not in body)
    Draft202012Validator(SLACK).validate(slack)
    Draft202012Validator(TEAMS).validate(teams)
    ((addresses, mail),) = mail_server.received
    card = teams["attachments"][0]["content"]
    got = [slack["blocks"][0]["block_id"], card["body"][0]["id"], mail["Message-ID"]]
    assert got == [*ids[:2], f"<{ids[2]}@shop.example>"]
    assert addresses == [ADA, BO, CY]
    assert mail["Subject"] == "Shop: <night> failed"


def test_a_kill_between_delivery_and_record_repeats_the_message_with_its_id(
    service: RestartableService, project: Project, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = a_channel(service, project, "email")
    tell(service, project)
    with monkeypatch.context() as killed:
        killed.setattr(Deliveries, "note_success", _die)
        with pytest.raises(ExceptionGroup):
            deliver(service)
    service.restart()
    deliver(service)
    deliver(service)
    assert len(mail_server.received) == 2
    assert len({mail["Message-ID"] for _, mail in mail_server.received}) == 1
    assert len(set(mail_server.raw)) == 1
    assert (last(service, channel).status, last(service, channel).attempts) == ("delivered", 1)


def test_addresses_that_were_reached_get_no_message_again(
    service: RestartableService, project: Project, mail_server: MailServer
) -> None:
    channel = a_channel(service, project, "email")
    tell(service, project)
    mail_server.refused = {BO: 451}
    deliver(service)
    waiting = last(service, channel)
    assert (waiting.status, waiting.error) == ("pending", "the mail server refused 1 of 3 addresses (451)")
    assert ADA.encode() not in (waiting.reached or b"")
    service.restart()
    mail_server.refused = {}
    deliver(service, after=WAITS[0])
    assert [addresses for addresses, _ in mail_server.received] == [[ADA, CY], [BO]]
    assert (last(service, channel).status, last(service, channel).error) == ("delivered", None)


def test_a_mailbox_that_is_gone_holds_up_no_other(
    service: RestartableService, project: Project, mail_server: MailServer
) -> None:
    channel = a_channel(service, project, "email")
    mail_server.refused = {BO: 550}
    tell(service, project)
    deliver(service)
    sent = last(service, channel)
    assert (sent.status, sent.error) == ("delivered", "the mail server refused 1 of 3 addresses (550)")
    mail_server.refused = dict.fromkeys((ADA, BO, CY), 550)
    service.now += SECOND
    tell(service, project, "Again")
    deliver(service)
    assert last(service, channel).error == "the mail server refused 3 of 3 addresses (550)"
    deliver(service, after=TRIED_FOR)
    assert state(service, channel) == "failing"


def test_a_member_who_has_left_gets_no_message(
    service: RestartableService, project: Project, mail_server: MailServer
) -> None:
    members = service.store.catalog.members
    ada, bo = (members.add(project.account_id, address, "Somebody") for address in (ADA, BO))
    channel = a_channel(service, project, "email")
    alone = a_channel(service, project, "email", addresses=[BO.title()])
    members.remove(project.account_id, bo.id)
    tell(service, project)
    deliver(service)
    assert [addresses for addresses, _ in mail_server.received] == [[ADA, CY]]
    assert last(service, channel).status == "delivered"
    assert last(service, alone).error == "every address of the channel is of a member who has left"
    assert (state(service, channel), state(service, alone)) == (None, "gone")
    members.remove(project.account_id, ada.id)


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("slack", "403: the workspace does not let this webhook post to the channel"),
        ("teams", "401: the address lacks its signature; copy the whole of it"),
        ("slack", "410: the channel is archived"),
        ("teams", "500"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    service: RestartableService, project: Project, endpoint: Endpoint, kind: str, answer: str
) -> None:
    channel = a_channel(service, project, kind, url=endpoint.url)
    endpoint.status = int(answer[:3])
    service.store.catalog.deliveries.add_test(channel, project, actor="test", now=service.now)
    deliver(service)
    assert (last(service, channel).type, last(service, channel).error) == (
        "test",
        f"the endpoint answered {answer}",
    )
    assert state(service, channel) == ("gone" if endpoint.status == 410 else None)


def test_a_destination_of_another_key_is_not_sent_to(
    service: RestartableService, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = a_channel(service, project, "slack", url="http://127.0.0.1:9/")
    tell(service, project)
    monkeypatch.setenv("TRUELIFT_SECRETS_KEY", Fernet.generate_key().decode())
    service.restart()
    deliver(service)
    assert last(service, channel).error == "the destination was encrypted by another key; give it again"


def test_a_private_address_is_not_reached(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = a_channel(service, project, "slack", url=endpoint.url)
    monkeypatch.setenv("TRUELIFT_WEBHOOK_NETWORKS", "")
    service.restart()
    tell(service, project)
    deliver(service, after=timedelta(minutes=1))
    assert "not public" in (last(service, channel).error or "")
    assert not endpoint.received


def test_channels_of_a_deleted_project_are_gone_with_their_messages(
    service: RestartableService, project: Project, mail_server: MailServer
) -> None:
    channel = a_channel(service, project, "email")
    tell(service, project)
    service.store.catalog.projects.delete(project.account_id, project.id, actor="test")
    deliver(service)
    assert not mail_server.received
    assert not service.store.catalog.deliveries.page(channel.id).items
    assert not service.store.catalog.notification_channels.enabled()


def _die(*_: Any, **__: Any) -> None:
    raise RuntimeError("killed")
