"""News of projects for notification channels: failed nights, morning digests, and summaries of full hours."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, time, timedelta
from functools import partial
from typing import Final

from engine.analysis.results.kept_verdict import ExperimentChange, KeptVerdict
from engine.analysis.results.verdict_words import CHECK_WORDS, LIFE_WORDS, VERDICT_WORDS
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN
from engine.design.project import Project
from engine.local_days import local_day
from engine.time_zones import zone
from pipeline.run_each import run_each
from pipeline.services import PipelineServices
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.runs.run_repository import MOST_ATTEMPTS
from pipeline.store.catalog.webhooks.channel_message import ChannelMessage, project_message
from pipeline.store.catalog.webhooks.webhook_records import DIGEST, ChannelEvent, Webhook

_DAY: Final = timedelta(days=1)
_FAILED_NIGHT: Final[ChannelEvent] = "night_failed"
# A digest names so many experiments.
_MOST_NAMED: Final = 30


def announce_project_news(services: PipelineServices) -> None:
    """Queue what channels are owed beside news of results; ExceptionGroup of the failures."""
    now = services.clock()
    by_project: dict[str, list[Webhook]] = {}
    for channel in services.catalog.notification_channels.enabled():
        by_project.setdefault(channel.project_id, []).append(channel)
    # Without channels there is no summary, either.
    if not by_project:
        return
    owed: dict[str, Callable[[], None]] = {}
    for project in services.catalog.projects.all():
        if project.id in by_project:
            owed |= _owed_by(services, project, by_project[project.id], now)
    messages = services.catalog.channel_messages
    for one in messages.projects_to_summarize(now=now):
        owed[f"summary of project {one}"] = partial(messages.summarize, one, now=now)
    run_each({name: partial(_unless_deleted, work) for name, work in owed.items()})


def _unless_deleted(work: Callable[[], None]) -> None:
    with suppress(NotFoundError):
        work()


def _owed_by(
    services: PipelineServices, project: Project, channels: list[Webhook], now: datetime
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the work that is owed to the channels of a project by now, each with its name."""
    if any(_FAILED_NIGHT in channel.events for channel in channels):
        yield f"night of project {project.id}", partial(_tell_failed_night, services, project, now)
    for channel in channels:
        if (day := due_digest(channel, project.timezone, now=now)) is not None:
            key = f"{DIGEST} {day}"
            yield (
                f"digest of channel {channel.id}",
                partial(_tell_digest, services, project, channel, key, now),
            )


def due_digest(channel: Webhook, timezone: str, *, now: datetime) -> str | None:
    """Return the local day whose digest a channel is owed by now, if any.

    One that was missed in the morning is sent later that day. Where the clock skips the hour, it is sent when
    the hour would have come; where it repeats it, once. A channel that was changed since is owed none.
    """
    if channel.digest_hour is None:
        return None
    day = local_day(now, timezone)
    due = datetime.combine(day, time(channel.digest_hour), zone(timezone))
    # Times of one zone are compared by their clocks; these are to be compared as moments.
    is_due = due.timestamp() <= now.timestamp() and channel.updated_at.timestamp() <= due.timestamp()
    return day.isoformat() if is_due else None


def _tell_failed_night(services: PipelineServices, project: Project, now: datetime) -> None:
    runs = services.catalog.runs.failed_nights(project.id, since=now - _DAY)
    found = Counter((local_day(run.created_at, project.timezone).isoformat(), run.status) for run in runs)
    # A restart of the service interrupts a run, which is begun again.
    failed = {day for (day, status), times in found.items() if status == "failed" or times >= MOST_ATTEMPTS}
    for day in sorted(failed):
        title = f"{project.name}: the nightly count failed"
        told = project_message(
            _FAILED_NIGHT,
            project,
            title,
            "Results of today may lack what arrived late. The count is tried again within the hour.",
            "The reason is in the list of runs, and in the log of the service.",
        )
        services.catalog.channel_messages.tell(told, key=f"{_FAILED_NIGHT} {day}", now=now)


def _tell_digest(
    services: PipelineServices, project: Project, channel: Webhook, key: str, now: datetime
) -> None:
    messages = services.catalog.channel_messages
    if not messages.is_told(channel, key):
        messages.tell_one(channel, digest_of(services, project, now), key=key, now=now)


def digest_of(services: PipelineServices, project: Project, now: datetime) -> ChannelMessage:
    """Return the digest of a project: its open experiments, those that ended within a day, and changes."""
    found = [
        one
        for one in services.catalog.experiments.of_project(project.id, [*OPEN, "completed"])
        if one.completed_at is None or one.completed_at > now - _DAY
    ]
    running = sum(one.completed_at is None for one in found)
    lines = [_line_of(one, services.catalog.kept_verdicts.find(one.id), now) for one in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        lines.append(f"{len(found) - _MOST_NAMED} more are on the page of the project.")
    many = {0: "no experiment is running", 1: "1 experiment is running"}
    title = f"{project.name}: {many.get(running, f'{running} experiments are running')}"
    return project_message(DIGEST, project, title, *lines)


def _line_of(experiment: Experiment, kept: KeptVerdict | None, now: datetime) -> str:
    if kept is None:
        return f"{experiment.name}: not counted yet."
    parts = [VERDICT_WORDS[kept.verdict].label, f"{kept.visitors:,} visitors"]
    if kept.plan.progress is not None:
        parts.append(f"{kept.plan.progress:.0%} of the plan")
    if experiment.status != "running":
        parts.append(LIFE_WORDS[experiment.status].label.lower())
    changed = [_change_words(one) for one in kept.changes if one.at > now - _DAY]
    since = f" Since yesterday: {'; '.join(changed)}." if changed else ""
    return f"{experiment.name}: {', '.join(parts)}.{since}"


def _change_words(change: ExperimentChange) -> str:
    if change.kind == "verdict":
        before, after = (VERDICT_WORDS[one].label for one in (change.before, change.after))  # type: ignore[index] # kept as verdicts
        return f"{before} → {after}"
    if change.kind == "plan":
        return "the plan is reached"
    check = change.after or change.before or ""
    label = CHECK_WORDS[check].label if check in CHECK_WORDS else check
    return f"{label} {'alarms' if change.after else 'alarms no more'}"
