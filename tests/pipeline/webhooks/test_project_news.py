"""News of projects: a digest each morning of a month, failed nights, and projects that are deleted."""

import json
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from engine.design.project import Project
from pipeline.store.catalog.runs.run_record import Run
from pipeline.store.catalog.webhooks.channel_queue import MOST_AN_HOUR
from pipeline.store.catalog.webhooks.webhook_records import Webhook
from pipeline.webhooks.project_news import announce_project_news, due_digest
from tests.builders import STARTED
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.simulated_days import GOALS, SimulatedDays
from tests.pipeline.webhooks.told_channels import a_channel, queued, tell

BERLIN = ZoneInfo("Europe/Berlin")
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
URL = "https://hooks.slack.example/1"


@pytest.fixture
def project(service: RestartableService) -> Project:
    return service.store.add_project(reporting_timezone="Europe/Berlin")


def look(service: RestartableService, at: datetime) -> None:
    service.now = at.astimezone(UTC)
    announce_project_news(service.store)


def digests(service: RestartableService, channel: Webhook) -> list[datetime]:
    found = service.store.catalog.deliveries.page(channel.id, per_page=2000).items
    return sorted(one.created_at.astimezone(BERLIN) for one in found if one.type == "digest")


def test_a_digest_comes_each_morning_of_a_month(service: RestartableService, project: Project) -> None:
    """The clocks go forward on 29 March at two, and the service is down on the morning of the 20th."""
    hour = 2
    service.now = datetime(2026, 3, 9, 20, tzinfo=UTC)
    channel = a_channel(service, project, "slack", url=URL, digest_hour=hour)
    days = [datetime(2026, 3, 10, tzinfo=BERLIN).date() + DAY * number for number in range(31)]
    down = datetime(2026, 3, 20, tzinfo=BERLIN).date()
    for day in days:
        if day.day == 15:
            service.restart()
        for clock in (time(hour - 1, 59), time(hour), time(hour, 1), time(hour + 1), time(17)):
            if day != down or clock == time(17):
                look(service, datetime.combine(day, clock, BERLIN))
    sent = digests(service, channel)
    assert [one.date() for one in sent] == days
    late = {down: time(17), datetime(2026, 3, 29, tzinfo=BERLIN).date(): time(3)}
    assert {one.date(): one.time() for one in sent if one.time() != time(hour)} == late


def test_an_hour_that_repeats_has_one_digest(service: RestartableService, project: Project) -> None:
    service.now = datetime(2026, 10, 24, 20, tzinfo=UTC)
    channel = a_channel(service, project, "slack", url=URL, digest_hour=2)
    first = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
    for half in range(8):
        look(service, first + half * timedelta(minutes=30))
    (sent,) = digests(service, channel)
    assert sent.timestamp() == datetime(2026, 10, 25, 0, tzinfo=UTC).timestamp()


def test_a_channel_is_owed_no_digest_of_an_hour_before_it(
    service: RestartableService, project: Project
) -> None:
    service.now = datetime(2026, 3, 10, 15, tzinfo=UTC)
    channel = a_channel(service, project, "slack", url=URL, digest_hour=8)
    silent = a_channel(service, project, "slack", url=URL)
    look(service, service.now + MINUTE)
    assert not digests(service, channel)
    assert due_digest(channel, "Europe/Berlin", now=service.now + DAY) == "2026-03-11"
    assert due_digest(silent, "Europe/Berlin", now=service.now + DAY) is None


def test_a_digest_says_what_runs_and_waits_for_room(service: RestartableService, project: Project) -> None:
    service.now = STARTED
    channel = a_channel(service, project, "slack", url=URL, digest_hour=8)
    experiment = service.store.add_experiment(project, goals=GOALS)
    service.store.add_experiment(project, name="Later", status="draft")
    days = SimulatedDays(experiment, (0.3, 0.3), seed=4)
    service.run_at(STARTED + DAY, *days.arrive(0), project=project)
    service.report(experiment, project)
    at = datetime.combine((STARTED + DAY).date(), time(22), BERLIN)
    for number in range(MOST_AN_HOUR):
        service.now = at.astimezone(UTC)
        tell(service, project, f"Night {number}")
    look(service, at)
    assert not digests(service, channel)
    look(service, at + timedelta(hours=1))
    (found,) = [
        one for one in service.store.catalog.deliveries.page(channel.id).items if one.type == "digest"
    ]
    told = json.loads(found.content)["data"]
    assert told["title"] == f"{project.name}: 1 experiment is running"
    (line,) = told["paragraphs"]
    assert line.startswith(f"{experiment.name}: ")
    assert "60 visitors" in line


def test_a_failed_night_is_told_once_a_day(service: RestartableService, project: Project) -> None:
    service.now = datetime(2026, 3, 10, 1, tzinfo=UTC)
    channel = a_channel(service, project, "slack", url=URL)
    runs, told = service.store.catalog.runs, list[int]()
    for day, (status, trigger) in enumerate(
        [("failed", "schedule"), ("interrupted", "schedule"), ("failed", "api"), ("done", "schedule")]
    ):
        for attempt in range(3):
            at = service.now + attempt * timedelta(minutes=10)
            run = Run(
                project_id=project.id,
                kind="rebuild",
                trigger=trigger,  # type: ignore[arg-type] # of the table
                status=status,  # type: ignore[arg-type] # of the table
                created_at=at,
                error="no such column 'ada@shop.example'",
            )
            runs.add(run)
            look(service, at + MINUTE)
            told.append(len(queued(service, channel)))
        if day == 1:
            service.restart()
        service.now = datetime(2026, 3, 11 + day, 1, tzinfo=UTC)
    # At the first failure, or the third interruption, of the schedule.
    assert told == [1, 1, 1, 1, 1, 2, *[2] * 6]
    assert queued(service, channel) == [("night_failed", "pending")] * 2
    contents = [one.content for one in service.store.catalog.deliveries.page(channel.id).items]
    assert not any("ada@" in content for content in contents)


def test_what_is_of_a_deleted_project_hides_no_other(
    service: RestartableService, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.now = datetime(2026, 3, 9, 20, tzinfo=UTC)
    gone = service.store.add_project(reporting_timezone="Europe/Berlin")
    for one in (gone, project):
        a_channel(service, one, "slack", url=URL, digest_hour=8)
    catalog = service.store.catalog
    listed, channels = catalog.projects.all(), catalog.notification_channels.enabled()
    catalog.projects.delete(gone.account_id, gone.id, actor="test")
    (channel,) = catalog.notification_channels.enabled()
    # As if it had been deleted since they were listed.
    monkeypatch.setattr(type(catalog.projects), "all", lambda _: listed)
    monkeypatch.setattr(type(catalog.notification_channels), "enabled", lambda _: channels)
    look(service, datetime(2026, 3, 10, 9, tzinfo=UTC))
    assert len(digests(service, channel)) == 1
