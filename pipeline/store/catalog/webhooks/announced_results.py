"""What webhooks and channels were told of an experiment's results last, so that each change is told once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from engine.design.experiment import Experiment
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.schema import announced_results, experiments
from pipeline.store.catalog.webhooks.announced_states import FIRST_VERDICT, StateChange, States, settle
from pipeline.store.catalog.webhooks.channel_message import ChannelMessage
from pipeline.store.catalog.webhooks.channel_queue import first_channel_at, queue_message
from pipeline.store.catalog.webhooks.message_queue import announce


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedResults:
    """The decision on the primary goal, with facts about it, and the message of each alarm by its check.

    `states` are what channels are told of, by events counted up to `counted_at`, and `message_of` is what
    they are told of a change.
    """

    recommendation: str
    decision: Mapping[str, Any]
    alarms: Mapping[str, str]
    states: Mapping[str, str] = field(default_factory=dict)
    counted_at: datetime | None = None
    message_of: Callable[[StateChange], ChannelMessage | None] = lambda _: None


class AnnouncedResults:
    """Repository of the last observed decision and alarms of experiments."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, experiment: Experiment, seen: ObservedResults, *, now: datetime) -> None:
        """Announce a decision that differs from the last one, and alarms that began; NotFoundError."""
        is_this = announced_results.c.experiment_id == experiment.id
        with self._database.write() as connection:
            # Of two processes at once, the second finds what the first has noted.
            lock_project(connection, experiment.project_id)
            if connection.scalar(select(experiments.c.id).where(experiments.c.id == experiment.id)) is None:
                raise NotFoundError("experiment", experiment.id)
            row = connection.execute(select(announced_results).where(is_this)).mappings().one_or_none()
            last = row["recommendation"] if row else FIRST_VERDICT
            known = set(row["alarms"]) if row else set()
            stored: States | None = row["states"] if row else None
            values = {
                "recommendation": seen.recommendation,
                "alarms": sorted(seen.alarms),
                "states": _tell_channels(connection, experiment, seen, stored, now),
            }
            if row is None:
                connection.execute(announced_results.insert().values(experiment_id=experiment.id, **values))
            elif {**row, "states": stored} != {**row, **values}:
                connection.execute(announced_results.update().where(is_this).values(values))
            if seen.recommendation != last:
                facts = {**seen.decision, "previous_recommendation": last}
                announce(connection, experiment, "experiment.decision", facts, at=now)
            for check in sorted(set(seen.alarms) - known):
                facts = {"check": check, "message": seen.alarms[check]}
                announce(connection, experiment, "experiment.health_alarm", facts, at=now)


def _tell_channels(
    connection: Connection,
    experiment: Experiment,
    seen: ObservedResults,
    states: States | None,
    now: datetime,
) -> States | None:
    """Queue messages about the states that have changed, and return those to note.

    What held before the project had a channel is no news.
    """
    if seen.counted_at is None:
        return states
    if states is None:
        began = max(experiment.created_at, experiment.started_at or experiment.created_at)
        since = first_channel_at(connection, experiment.project_id)
        if since is not None and began < since:
            return {name: {"told": value} for name, value in seen.states.items()}
    settled, changes = settle(states or {}, seen.states, counted_at=seen.counted_at, now=now)
    for change in changes:
        if (message := seen.message_of(change)) is not None:
            queue_message(connection, message, now=now)
    return settled
