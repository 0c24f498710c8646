"""Commits of numbered events to the warehouse, each with the number up to which all are loaded."""

import logging
from collections.abc import Mapping

import polars as pl

from pipeline.events.custom_keys import CustomKeys
from pipeline.ingest.spooled_events import EventGroup, to_tables
from pipeline.store.spool import loaded_events
from pipeline.store.warehouse import event_digests, events, nightly_counts, visitor_totals
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.errors import is_of_values
from pipeline.store.warehouse.incremental import identity_links
from pipeline.store.warehouse.late_visits import add_late_visits, forget_late_visits
from pipeline.store.warehouse.segment_dimensions import forget_custom_keys

logger = logging.getLogger(__name__)


class LoadedSeqError(Exception):
    """The warehouse has other events than this process knows of: a commit was taken as failed."""


class EventCommits:
    """Transactions on the events of `warehouse`, one at a time."""

    def __init__(self, warehouse: Warehouse, loaded_seq: int, last_seq_of: Mapping[str, int]) -> None:
        """Continue after `loaded_seq`, up to which the warehouse has every event, the newest by project."""
        self.loaded_seq = loaded_seq
        self._warehouse = warehouse
        self.custom_keys = CustomKeys(warehouse)
        self._last_seq_of = dict(last_seq_of)
        # CREATE TABLE IF NOT EXISTS takes a fifth of the time of a small commit.
        self._has_table: set[str] = set()

    def last_seq_of(self, project_id: str) -> int:
        """Return the newest number of a project; 0 without one."""
        return self._last_seq_of.get(project_id, 0)

    def commit(self, tables: Mapping[str, pl.DataFrame], last_seq: int) -> None:
        """Store the events of each project, all or none; every one up to `last_seq` is loaded then.

        Raises LoadedSeqError, after which `read_loaded_seq` tells what is loaded, and what the store raises.
        """
        self._warehouse.require_space()
        try:
            self._store(tables, last_seq)
        except BaseException:
            # One of the tables may be gone, with its project.
            self._has_table.clear()
            raise
        self._has_table.update(tables)
        for project_id, table in tables.items():
            self._last_seq_of[project_id] = table["seq"][-1]
        self.loaded_seq = last_seq

    def read_loaded_seq(self) -> None:
        """Read what is loaded: a commit that met a fatal error may be in the log nevertheless."""
        with self._warehouse.cursor() as cursor:
            loaded_seq = loaded_events.read_loaded_seq(cursor)
        self._last_seq_of = events.last_seqs(self._warehouse)
        self.loaded_seq = loaded_seq or 0

    def is_loadable(self, group: EventGroup) -> bool:
        """Try to store a group of events, and undo it; False where its values are refused, which is logged.

        Raises every other error.
        """
        try:
            with self._warehouse.transaction() as cursor:
                for project_id, table in to_tables([group]).items():
                    events.create_table(cursor, project_id)
                    events.append(cursor, project_id, table)
                raise _RolledBackError  # noqa: TRY301 - a trial
        except _RolledBackError:
            return True
        except Exception as error:
            if not is_of_values(error):
                raise
            logger.exception("events of project %s are set aside", group.project_id)
            return False

    def forget(self, project_id: str) -> None:
        """Delete every event of a project."""
        with self._warehouse.transaction() as cursor:
            events.drop(cursor, project_id)
            forget_custom_keys(cursor, project_id)
            forget_late_visits(cursor, project_id)
            identity_links.forget(cursor, project_id)
            event_digests.forget(cursor, project_id)
            nightly_counts.forget(cursor, project_id)
            visitor_totals.forget(cursor, project_id)
        self.custom_keys.forget(project_id)
        self._has_table.discard(project_id)
        self._last_seq_of.pop(project_id, None)

    def _store(self, tables: Mapping[str, pl.DataFrame], last_seq: int) -> None:
        with self.custom_keys.read_again_after_failures(), self._warehouse.transaction() as cursor:
            if not loaded_events.advance(cursor, self.loaded_seq, last_seq):
                raise LoadedSeqError
            for project_id, table in tables.items():
                if project_id not in self._has_table:
                    events.create_table(cursor, project_id)
                events.append(cursor, project_id, self.custom_keys.limit(cursor, project_id, table))
                add_late_visits(cursor, project_id, table)


class _RolledBackError(Exception):
    """A trial is over."""
