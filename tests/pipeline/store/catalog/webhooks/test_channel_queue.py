"""Messages to channels: once by their key, at most so many within an hour, and one summary of the others."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from pipeline.clock import utc_now
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError, TooManyTestsError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.webhooks import channel_queue
from pipeline.store.catalog.webhooks.announced_results import ObservedResults
from pipeline.store.catalog.webhooks.announced_states import StateChange
from pipeline.store.catalog.webhooks.channel_message import ChannelMessage
from pipeline.store.catalog.webhooks.channel_queue import HOUR
from pipeline.store.catalog.webhooks.webhook_records import CHANNEL_EVENTS, Delivery, Webhook
from tests.builders import NOW, an_experiment

MINUTE = timedelta(minutes=1)
# In place of twenty.
MOST = 4


@pytest.fixture(autouse=True)
def _few_fill_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert channel_queue.MOST_AN_HOUR == 20
    monkeypatch.setattr(channel_queue, "MOST_AN_HOUR", MOST)
    monkeypatch.setattr(channel_queue, "_MOST_NAMED", 5)


def a_channel(catalog: Catalog, project_id: str, events: tuple[str, ...] = CHANNEL_EVENTS) -> Webhook:
    made = Webhook(
        id=new_id("chn"),
        project_id=project_id,
        kind="slack",
        url="https://hooks.slack.example/…",
        description=None,
        events=events,  # type: ignore[arg-type] # of the table
        secret=b"encrypted",
        created_at=NOW,
        updated_at=NOW,
    )
    return catalog.notification_channels.create(made, actor="test")


def tell(catalog: Catalog, project_id: str, number: int, at: datetime, event: str = "data_broken") -> None:
    message = ChannelMessage(
        event=event, project_id=project_id, project_name="Shop", title=f"Message {number}", path="/"
    )
    catalog.channel_messages.tell(message, key=f"key {number}", now=at)


def queued(catalog: Catalog, channel: Webhook) -> list[Delivery]:
    found = catalog.deliveries.page(channel.id, per_page=2000).items
    return sorted(found, key=lambda one: one.created_at)


def statuses(catalog: Catalog, channel: Webhook) -> list[str]:
    return [one.status for one in queued(catalog, channel)]


def summarize(catalog: Catalog, at: datetime) -> None:
    for project_id in catalog.channel_messages.projects_to_summarize(now=at):
        catalog.channel_messages.summarize(project_id, now=at)


def test_a_message_is_queued_once_by_its_key_for_the_channels_of_its_event(
    catalog: Catalog, project_id: str
) -> None:
    channel, other = a_channel(catalog, project_id), a_channel(catalog, project_id, ("night_failed",))
    for at in (NOW, NOW + 30 * MINUTE):
        tell(catalog, project_id, 1, at)
    assert statuses(catalog, channel) == ["pending"]
    assert statuses(catalog, other) == []
    with pytest.raises(NotFoundError):
        tell(catalog, "prj_other", 1, NOW)


def test_beyond_the_most_of_an_hour_one_summary_names_the_others(catalog: Catalog, project_id: str) -> None:
    channel, second = a_channel(catalog, project_id), a_channel(catalog, project_id)
    for number in range(MOST + 8):
        tell(catalog, project_id, number, NOW + number * timedelta(seconds=1))
    for one in (channel, second):
        assert statuses(catalog, one) == ["pending"] * MOST + ["summarized"] * 8
    held_at = NOW + MOST * timedelta(seconds=1)
    summarize(catalog, held_at + HOUR - MINUTE)
    assert len(queued(catalog, channel)) == MOST + 8
    for at in (held_at + HOUR, held_at + HOUR + MINUTE):
        summarize(catalog, at)
    *_, summary = queued(catalog, channel)
    told = json.loads(summary.content)["data"]
    assert (summary.type, len(queued(catalog, channel))) == ("summary", MOST + 9)
    assert told["title"] == "Shop: 8 more messages than an hour may have"
    assert told["paragraphs"][0] == f"Message {MOST}"
    assert told["paragraphs"][-1].startswith("3 more")
    # The next hour begins with the summary.
    for number in range(100, 100 + MOST):
        tell(catalog, project_id, number, held_at + HOUR + 2 * MINUTE)
    assert statuses(catalog, channel).count("summarized") == 9


def most_within_an_hour(times: list[datetime]) -> int:
    return max(sum(one <= other < one + HOUR for other in times) for one in times)


def test_no_hour_has_more_whenever_messages_come(catalog: Catalog, project_id: str) -> None:
    channel = a_channel(catalog, project_id)
    for minute in _storm():
        at = NOW + minute * MINUTE
        summarize(catalog, at)
        tell(catalog, project_id, minute, at)
    sent = [one for one in queued(catalog, channel) if one.status != "summarized"]
    assert len(sent) < len(queued(catalog, channel))
    assert most_within_an_hour([one.created_at for one in sent]) == MOST
    assert sum(one.type == "summary" for one in sent) > 1


def _storm() -> Iterator[int]:
    """Minutes of four hours, one message in every tenth one of the first three."""
    yield from range(0, 180, 10)
    yield 240


def test_a_disabled_channel_gets_no_summary(catalog: Catalog, project_id: str) -> None:
    channel = a_channel(catalog, project_id)
    for number in range(MOST + 2):
        tell(catalog, project_id, number, NOW)
    catalog.notification_channels.change(
        project_id, channel.id, lambda one: replace(one, disabled_reason="on_request"), now=NOW, actor="test"
    )
    summarize(catalog, NOW + 2 * HOUR)
    assert set(statuses(catalog, channel)) == {"failed"}
    assert catalog.deliveries.pending_count() == 0


def test_a_project_has_a_limited_number_of_tests_an_hour(catalog: Catalog, project_id: str) -> None:
    channel, project = a_channel(catalog, project_id), catalog.projects.find(project_id)
    for _ in range(MOST):
        catalog.deliveries.add_test(channel, project, actor="test", now=utc_now())
    with pytest.raises(TooManyTestsError) as refused:
        catalog.deliveries.add_test(channel, project, actor="test", now=utc_now())
    assert 0 < refused.value.retry_after <= HOUR.total_seconds()
    catalog.deliveries.add_test(channel, project, actor="test", now=utc_now() + HOUR)
    # They take no room of messages.
    tell(catalog, project_id, 1, utc_now())
    assert statuses(catalog, channel).count("summarized") == 0


@pytest.mark.parametrize(("started", "told"), [(-MINUTE, []), (MINUTE, ["verdict ship"])])
def test_what_held_before_there_was_a_channel_is_no_news(
    catalog: Catalog, project_id: str, started: timedelta, told: list[str]
) -> None:
    channel, at = a_channel(catalog, project_id), NOW + started
    made = an_experiment(
        id=new_id("exp"), project_id=project_id, status="running", created_at=at, started_at=at
    )
    catalog.experiments.create(project_id, lambda _: made, actor="test")

    def message_of(change: StateChange) -> ChannelMessage:
        title = f"{change.name} {change.after}"
        return ChannelMessage(
            event="decision_ready", project_id=project_id, project_name="Shop", title=title, path="/"
        )

    for minute, verdict in enumerate(("ship", "ship", "rollback", "rollback")):
        counted_at = NOW + (2 + minute) * MINUTE
        seen = ObservedResults(
            recommendation=verdict,
            decision={},
            alarms={},
            states={"verdict": verdict},
            counted_at=counted_at,
            message_of=message_of,
        )
        catalog.announced_results.note(made, seen, now=counted_at)
    titles = [json.loads(one.content)["data"]["title"] for one in queued(catalog, channel)]
    assert titles == [*told, "verdict rollback"]
