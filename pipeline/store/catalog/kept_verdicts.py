"""Kept verdicts: one of each experiment, replaced after each count that changes it."""

from sqlalchemy import Text, cast, select

from engine.analysis.results.kept_verdict import KeptVerdict, following
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.schema import experiments, kept_verdicts
from pipeline.store.documents import document_of, value_from

KEPT_DOCUMENT = cast(kept_verdicts.c.document, Text)


class KeptVerdicts:
    """Repository of the verdicts that lists show; they are deleted with their experiment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, experiment_id: str) -> KeptVerdict | None:
        """Return the verdict of an experiment; None where none was kept yet."""
        query = select(KEPT_DOCUMENT).where(kept_verdicts.c.experiment_id == experiment_id)
        with self._database.read() as connection:
            text = connection.scalar(query)
        return None if text is None else value_from(text, KeptVerdict)

    def experiment_ids(self) -> set[str]:
        """Return the ids of the experiments with a verdict."""
        with self._database.read() as connection:
            return set(connection.scalars(select(kept_verdicts.c.experiment_id)))

    def keep(self, experiment_id: str, seen: KeptVerdict) -> None:
        """Keep a verdict with its changes since the last one, unless the experiment was deleted."""
        with self._database.write() as connection:
            is_this = experiments.c.id == experiment_id
            if connection.scalar(select(experiments.c.id).where(is_this).with_for_update()) is None:
                return
            of_this = kept_verdicts.c.experiment_id == experiment_id
            text = connection.scalar(select(KEPT_DOCUMENT).where(of_this))
            verdict = following(None if text is None else value_from(text, KeptVerdict), seen)
            values = {
                "verdict": verdict.verdict,
                "improvement": verdict.lift.improvement if verdict.lift else None,
                "visitors": verdict.visitors,
                "progress": verdict.plan.progress,
                "since": verdict.since,
                "document": document_of(verdict),
            }
            if text is None:
                connection.execute(kept_verdicts.insert().values(experiment_id=experiment_id, **values))
            else:
                connection.execute(kept_verdicts.update().where(of_this).values(values))
