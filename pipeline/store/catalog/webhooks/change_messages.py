"""Messages about a change of an experiment, queued in the transaction of the change."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, select

from engine.design.experiment import Experiment
from engine.vocabulary import HarmAction, ReviewPurpose, Status
from pipeline.store.catalog.schema import projects
from pipeline.store.catalog.webhooks.channel_message import ChannelMessage
from pipeline.store.catalog.webhooks.channel_queue import queue_message
from pipeline.store.catalog.webhooks.message_queue import announce
from pipeline.store.catalog.webhooks.webhook_records import ChannelEvent, Event

_EVENTS: Final[Mapping[Status, Event]] = {
    "scheduled": "experiment.scheduled",
    "running": "experiment.started",
    "paused": "experiment.paused",
    "completed": "experiment.completed",
    "archived": "experiment.archived",
}
# What a ramp did, in the title of a message.
_ACTIONS: Final[Mapping[HarmAction, str]] = {
    "rollback": "ended by its ramp, as a variant does harm",
    "pause": "paused by its ramp, as a variant does harm",
    "tell": "a variant does harm",
}
# What a yes is asked for, in the title of a message.
_PURPOSES: Final[Mapping[ReviewPurpose, str]] = {"start": "to its start", "ship": "to ship a variant"}


def announce_change(connection: Connection, before: Experiment, after: Experiment) -> None:
    """Queue messages about a new status, a ramp, reviews, a conclusion and a rollout, in one transaction."""
    _announce_ramp(connection, before, after)
    _announce_reviews(connection, before, after)
    _announce_status(connection, before, after)
    if after.conclusion is not None and before.conclusion is None:
        told = {name: getattr(after.conclusion, name) for name in ("decision", "variant_id", "note")}
        announce(connection, after, "experiment.concluded", told, at=after.updated_at)
    if before.shipped is not None and after.shipped is None:
        told = {"variant_id": before.shipped.id}
        announce(connection, after, "experiment.rollout_ended", told, at=after.updated_at)


def _announce_status(connection: Connection, before: Experiment, after: Experiment) -> None:
    event = _EVENTS.get(after.status)
    if event is None or after.status == before.status:
        return
    if (before.status, after.status) == ("paused", "running"):
        event = "experiment.resumed"
    data = {"status": after.status, "previous_status": before.status}
    announce(connection, after, event, data, at=after.updated_at)


def _announce_ramp(connection: Connection, before: Experiment, after: Experiment) -> None:
    for harm in after.ramp_harm[len(before.ramp_harm) :]:
        names = ("findings", "variant_ids", "action", "message")
        told = {name: getattr(harm, name) for name in names}
        announce(connection, after, "experiment.ramp_harm", told, at=harm.found_at)
        if harm.variant_ids:
            message = _message(
                connection, after, "ramp_harm", _ACTIONS[harm.action], harm.message.splitlines()
            )
            queue_message(connection, message, now=harm.found_at)
    # The first step is that of the start.
    for step in after.ramp_steps[max(len(before.ramp_steps), 1) :]:
        told = {"traffic_allocation": step.percent}
        announce(connection, after, "experiment.ramp_step", told, at=step.started_at)


def _announce_reviews(connection: Connection, before: Experiment, after: Experiment) -> None:
    for review in (one for one in after.reviews if one not in before.reviews):
        told: dict[str, object] = {"purpose": review.purpose, "variant_id": review.variant_id}
        if review.withdrawn_at is not None or review.approved_at is not None:
            told |= {
                "answer": "approved" if review.withdrawn_at is None else "withdrawn",
                "note": review.answer,
            }
            announce(connection, after, "experiment.review_answered", told, at=after.updated_at)
            continue
        told |= {"note": review.note, "asked_by_name": review.asked_by_name}
        announce(connection, after, "experiment.review_asked", told, at=review.asked_at)
        message = _message(
            connection,
            after,
            "review_asked",
            f"{review.asked_by_name} asks for a yes {_PURPOSES[review.purpose]}",
            [review.note] if review.note else [],
            page="/review",
        )
        queue_message(connection, message, now=review.asked_at)


def _message(  # noqa: PLR0913, PLR0917 - each is a fact of the message
    connection: Connection,
    experiment: Experiment,
    event: ChannelEvent,
    title: str,
    paragraphs: Sequence[str],
    page: str = "",
) -> ChannelMessage:
    name = select(projects.c.document["name"].as_string()).where(projects.c.id == experiment.project_id)
    return ChannelMessage(
        event=event,
        project_id=experiment.project_id,
        project_name=connection.execute(name).scalar_one(),
        experiment_id=experiment.id,
        title=f"{experiment.name}: {title}",
        paragraphs=paragraphs,
        path=f"/projects/{experiment.project_id}/experiments/{experiment.id}{page}",
    )
