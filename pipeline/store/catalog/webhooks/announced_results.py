"""What webhooks were told of an experiment's results last, so that each change is told once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select

from engine.design.experiment import Experiment
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.experiments import lock_project
from pipeline.store.catalog.schema import announced_results, experiments
from pipeline.store.catalog.webhooks.message_queue import announce

# What an experiment begins with, which is no news.
_FIRST: Final = "insufficient_data"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedResults:
    """The decision on the primary goal, with facts about it, and the message of each alarm by its check."""

    recommendation: str
    decision: Mapping[str, Any]
    alarms: Mapping[str, str]


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
            last = row["recommendation"] if row else _FIRST
            known = set(row["alarms"]) if row else set()
            values = {"recommendation": seen.recommendation, "alarms": sorted(seen.alarms)}
            if row is None:
                connection.execute(announced_results.insert().values(experiment_id=experiment.id, **values))
            elif (last, sorted(known)) != (seen.recommendation, values["alarms"]):
                connection.execute(announced_results.update().where(is_this).values(values))
            if seen.recommendation != last:
                facts = {**seen.decision, "previous_recommendation": last}
                announce(connection, experiment, "experiment.decision", facts, at=now)
            for check in sorted(set(seen.alarms) - known):
                facts = {"check": check, "message": seen.alarms[check]}
                announce(connection, experiment, "experiment.health_alarm", facts, at=now)
