"""A kill while a message is sent: it arrives with its id, and twice only where it was not recorded."""

import json
from pathlib import Path

import pytest

from engine.design.project import Project
from pipeline.encryption_key import open_cipher
from pipeline.store.catalog.webhooks.channel_message import project_message
from pipeline.store.catalog.webhooks.webhook_records import Delivery
from pipeline.webhooks.channel_requests import ChannelRules, draft_channel
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, an_endpoint
from tests.pipeline.working_store import a_working_store
from tests.resilience.kills import Workers
from tests.resilience.workers import LATER


def a_told_project(data_dir: Path, url: str) -> tuple[Project, str]:
    """Make a project with a channel of Slack; returns it and the channel's id."""
    with a_working_store(data_dir) as store:
        project = store.add_project()
        rules = ChannelRules(store.settings, open_cipher(store.settings), ())
        drafted = draft_channel(rules, project.id, {"kind": "slack", "url": url}, now=LATER)
        return project, store.catalog.notification_channels.create(drafted, actor="test").id


def tell(data_dir: Path, project: Project, title: str) -> None:
    with a_working_store(data_dir) as store:
        message = project_message("night_failed", project, title, "It failed.")
        store.catalog.channel_messages.tell(message, key=title, now=LATER)


def delivery_of(data_dir: Path, channel_id: str, title: str) -> Delivery:
    with a_working_store(data_dir) as store:
        found = store.catalog.deliveries.page(channel_id, per_page=100).items
        return next(one for one in found if json.loads(one.content)["data"]["title"] == title)


@pytest.mark.long(seconds=7)
def test_a_message_is_sent_again_only_after_a_kill_between_its_delivery_and_the_record_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUELIFT_WEBHOOK_NETWORKS", LOOPBACK)
    data_dir, workers = tmp_path / "store", Workers()
    with an_endpoint() as endpoint:
        project, channel_id = a_told_project(data_dir, endpoint.url)

        def ids() -> list[str]:
            return [json.loads(one.body)["blocks"][0]["block_id"] for one in endpoint.received]

        tell(data_dir, project, "Before")
        workers.run("messages", data_dir, point=1)
        assert ids() == []
        workers.finish("messages", data_dir)
        before = delivery_of(data_dir, channel_id, "Before")
        assert (before.status, ids()) == ("delivered", [before.id])

        tell(data_dir, project, "Between")
        endpoint.answers.clear()
        workers.run("messages", data_dir, once=lambda: len(endpoint.received) == 2)
        endpoint.answers.set()
        between = delivery_of(data_dir, channel_id, "Between")
        assert (between.status, between.attempts) == ("pending", 0)
        for _ in range(2):
            workers.finish("messages", data_dir)
        assert ids() == [before.id, between.id, between.id]
        assert endpoint.received[1].body == endpoint.received[2].body
        ended = delivery_of(data_dir, channel_id, "Between")
        assert (ended.status, ended.attempts) == ("delivered", 1)
    assert workers.kills == 2
