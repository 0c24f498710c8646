"""Recorded looks at experiments: added, and never changed while the experiment exists."""

from collections import Counter
from datetime import datetime

from sqlalchemy import Connection, func, select

from engine.analysis.evidence.recorded_looks import RecordedLook, is_to_be_added
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import experiments, recorded_looks
from pipeline.store.documents import document_of, value_of


class RecordedLooks:
    """Repository of recorded looks, of which every one is kept; they are deleted with their experiment."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._added = Counter[str]()

    def of(self, experiment_id: str) -> tuple[RecordedLook, ...]:
        """Return the looks that tell all: the one at the plan and the last of the others, in order."""
        with self._database.read() as connection:
            return _looks_of(connection, experiment_id)

    def number(self, experiment_id: str) -> int:
        """Return a number that differs after each look that this process records at the experiment."""
        return self._added[experiment_id]

    def last_times(self) -> dict[str, datetime]:
        """Return the time of the last look at every experiment that has one, by its id."""
        last = func.max(recorded_looks.c.taken_at)
        query = select(recorded_looks.c.experiment_id, last).group_by(recorded_looks.c.experiment_id)
        with self._database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def times(self, experiment_id: str) -> list[datetime]:
        """Return the times of all looks at an experiment, in order."""
        query = select(recorded_looks.c.taken_at).where(recorded_looks.c.experiment_id == experiment_id)
        with self._database.read() as connection:
            return list(connection.scalars(query.order_by(recorded_looks.c.taken_at)))

    def add(self, experiment_id: str, look: RecordedLook) -> bool:
        """Record a look; False where another process was first, and what it recorded holds.

        NotFoundError for an unknown experiment.
        """
        with self._database.write() as connection:
            # Locked, so that of two looks at once the second is compared with the first.
            query = select(experiments.c.id).where(experiments.c.id == experiment_id).with_for_update()
            if connection.scalar(query) is None:
                raise NotFoundError("experiment", experiment_id)
            if not is_to_be_added(look, _looks_of(connection, experiment_id)):
                return False
            connection.execute(
                recorded_looks.insert().values(
                    id=new_id("look"),
                    experiment_id=experiment_id,
                    taken_at=look.taken_at,
                    is_at_plan=look.is_at_plan,
                    document=document_of(look),
                )
            )
        self._added[experiment_id] += 1
        return True


def _looks_of(connection: Connection, experiment_id: str) -> tuple[RecordedLook, ...]:
    of_experiment = recorded_looks.c.experiment_id == experiment_id
    newest_first = recorded_looks.c.taken_at.desc(), recorded_looks.c.id.desc()
    ordinary = select(recorded_looks.c.id).where(of_experiment, ~recorded_looks.c.is_at_plan)
    last = ordinary.order_by(*newest_first).limit(1)
    query = (
        select(recorded_looks.c.document)
        .where(of_experiment, recorded_looks.c.is_at_plan | (recorded_looks.c.id == last.scalar_subquery()))
        .order_by(recorded_looks.c.taken_at, recorded_looks.c.id)
    )
    return tuple([value_of(document, RecordedLook) for document in connection.scalars(query)])
