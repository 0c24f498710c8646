"""Rollup runs: refresh of due results, and the nightly check and rebuild, which detects drift.

One run at a time, for all threads. Drift is a difference between results carried on from run to run and a
full count of the same events.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.clock import utc_now
from pipeline.rollup.count_and_publish import RollupScope, count_and_publish
from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.due import Due, find_due
from pipeline.rollup.earlier_sums import complete_earlier_sums
from pipeline.rollup.erasing import ErasureTarget, erase_person, look_for_person
from pipeline.rollup.kept_totals import KeptTotals
from pipeline.rollup.nightly_check import NightlyCheck
from pipeline.rollup.publications import Publications
from pipeline.rollup.result_digest import ResultDigest
from pipeline.rollup.selection import Selection
from pipeline.rollup.turns import Turns
from pipeline.rollup.whole_counts import ASKED, FAULTS, WholeCount
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson
from pipeline.store.warehouse.erasure.old_events import remove_old_events
from pipeline.store.warehouse.event_ranges import newest_seq
from pipeline.store.warehouse.events import has_table
from pipeline.store.warehouse.incremental import event_keys, identity_links

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Ids of experiments whose results a run changed; those of `drifted` ones differed from their events.

    It brings all others of its project up to date, too. The events that it counted are those numbered above
    `covered_seq`, up to `newest_seq`. `whole` is the reason of a rebuild that counted everything, and
    `is_checked` where it found that it need not.
    """

    recounted: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    drifted: tuple[str, ...] = ()
    covered_seq: int = 0
    newest_seq: int = 0
    whole: WholeCount | None = None
    is_checked: bool = False

    def __str__(self) -> str:
        """Summarize the run in a sentence."""
        parts = [
            f"{len(ids)} {what}"
            for ids, what in (
                (self.recounted, "counted from the first event on"),
                (self.updated, "brought up to date"),
                (self.drifted, "had drifted"),
            )
            if ids
        ]
        return ", ".join(parts) or "up to date already"


class Rollup:
    """Rollup of projects' events to results; all methods are thread-safe, and runs exclude each other.

    An unknown project raises NotFoundError.
    """

    def __init__(  # noqa: PLR0913 # two services; the rest is said by name
        self,
        warehouse: Warehouse,
        catalog: Catalog,
        settings: Settings,
        *,
        last_seq_of: Callable[[str], int],
        clock: Callable[[], datetime] = utc_now,
        load_events: Callable[[float | None], bool] = lambda _seconds: True,
    ) -> None:
        """Count the events of `warehouse`, after `load_events`.

        `last_seq_of` returns the number of a project's newest acknowledged event, 0 without events, and
        `clock` the `as_of` of results.
        """
        self._warehouse = warehouse
        self._catalog = catalog
        self.last_seq_of = last_seq_of
        self._at_once = settings.rollup_bucket_events
        self._clock = clock
        self._load_events = load_events
        self._turns = Turns(self._refresh_awaited)
        with warehouse.cursor() as cursor:
            published_rollups.create_tables(cursor)
        complete_earlier_sums(warehouse)
        self.publications = Publications(warehouse)
        self._selection = Selection(catalog, self.publications)
        self._totals = KeptTotals(warehouse, catalog, self.publications)

    def refresh(self, project_id: str, experiment_ids: Collection[str] | None = None) -> Outcome:
        """Count events that are not counted yet, for these experiments or for all."""
        with self._turns.take(), self._deletion_errors(project_id):
            project = self._catalog.projects.find(project_id)
            # Where that is impossible, as on a full disk, what is loaded is counted.
            self._load_events(None)
            return self._refresh(project, self._scope(project), experiment_ids)

    def rebuild(
        self, project_id: str, experiment_ids: Collection[str] | None = None, *, at_night: bool = False
    ) -> Outcome:
        """Count from the first event on, and report experiments whose results had drifted.

        Of these experiments or of all; the others are brought up to date. Final results of completed
        experiments stay as they are. `at_night`, what is stored is checked instead (`NightlyCheck`), and
        everything is counted only where the check, or one of `whole_counts`, gives a reason.
        """
        with self.pause(), self._deletion_errors(project_id):
            project = self._catalog.projects.find(project_id)
            self._load_events(None)
            # Both counts end with the same event, so events that arrive in between make no difference.
            scope = self._scope(project)
            first = self._refresh(project, scope)
            check, whole = None, WholeCount(ASKED)
            if experiment_ids is None:
                check = NightlyCheck(self._warehouse, project, scope)
                found = check.find(open_ones := self._selection.open_ones(project), is_asked=not at_night)
                if found is None:
                    with self.publications.replacing(one.experiment.id for one in open_ones) as only_records:
                        only_records.update(check.note_passed(open_ones))
                    return replace(first, is_checked=True)
                whole = found
            level = logging.ERROR if whole.reason in FAULTS else logging.INFO
            logger.log(level, "project %s is counted from the first event on: %s", project_id, whole)
            recounts = self._selection.to_recount(project, experiment_ids)
            before = self._digests(recounts)
            self._publish(recounts, scope)
            self._totals.bring_up_to_date(project_id)
            after = self._digests(recounts)
            if check is not None:
                check.note_whole()
            drifted = tuple(one for one, digest in before.items() if not digest.agrees_with(after[one]))
            if drifted or whole.reason in FAULTS:
                # Events that they lack are what a refresh would not find.
                event_keys.remove(self._warehouse, project_id)
        for experiment_id in drifted:
            logger.error("results of %s had drifted from its events, and are counted anew", experiment_id)
        return Outcome(
            recounted=tuple(before) or first.recounted,
            drifted=drifted,
            covered_seq=0 if before else first.covered_seq,
            newest_seq=scope.newest_seq,
            whole=whole,
        )

    def refresh_within(self, project_id: str, seconds: float) -> bool:
        """Refresh, waiting at most `seconds`; False where results may not be up to date (see `Turns`)."""
        return self._turns.refresh_within(project_id, seconds)

    def is_fresh(self, experiment: Experiment, project: Project) -> bool:
        """Tell whether the published results of the experiment count every acknowledged event."""
        newest = self.last_seq_of(project.id)
        if newest == 0:
            return True
        published = self.publications.find_all([experiment.id])
        return not find_due([experiment], published, CountingRules.of(project), newest, self._clock())

    def erase(
        self,
        project_id: str,
        key: int,
        *,
        is_user: bool,
        keep_out: Callable[[ErasedPerson], None],
        remove: Callable[[Cursor, ErasedPerson], None],
    ) -> ErasedPerson | None:
        """Erase the person with a visitor id, or a user id, of that key; None in a project without events.

        Imports store no event of the person any more once `keep_out` has returned. `remove` removes it from
        the tables of the warehouse. Neither is called where nothing is stored of it.
        Raises WarehouseUnavailableError where acknowledged events cannot be loaded at present.
        """
        with self.pause(), self._deletion_errors(project_id):
            project = self._catalog.projects.find(project_id)
            if not self._load_events(None):
                raise WarehouseUnavailableError("acknowledged events cannot be loaded at present")
            if not self._has_events(project_id):
                return None
            target = self._erasure_target(project, key, is_user=is_user)
            found = look_for_person(self._warehouse, target, self._scope(project))
            if not found.is_stored:
                return found
            keep_out(found)
            scope = self._scope(project)
            # The person has a row in each open experiment then.
            self._refresh(project, scope)
            target = self._erasure_target(project, key, is_user=is_user)
            ids = [*(one.experiment.id for one in target.open_ones), *target.final_ids]
            with self.publications.replacing(ids):
                erased = erase_person(self._warehouse, target, scope, remove)
            self._totals.bring_up_to_date(project_id)
            return erased

    def _has_events(self, project_id: str) -> bool:
        with self._warehouse.cursor() as cursor:
            return has_table(cursor, project_id)

    def _erasure_target(self, project: Project, key: int, *, is_user: bool) -> ErasureTarget:
        final_ids = [one for one, record in self._selection.records(project.id).items() if record.is_final]
        open_ones = self._selection.open_ones(project)
        return ErasureTarget(key=key, is_user=is_user, open_ones=open_ones, final_ids=final_ids)

    def remove_old_events(self, project_id: str, before: datetime) -> int:
        """Remove events of a project from before a time on which no open experiment depends; count them.

        Results stay. Those of completed experiments are never counted again from then on.
        """
        with self.pause(), self._deletion_errors(project_id):
            project = self._catalog.projects.find(project_id)
            self._load_events(None)
            scope = self._scope(project)
            if scope.newest_seq == 0:
                return 0
            # What is open has a row for each of its visitors then.
            self._refresh(project, scope)
            records = self._selection.records(project_id)
            open_ones = [one for one, record in records.items() if not record.is_final]
            self._warehouse.require_space()
            with self.publications.replacing(records), self._warehouse.transaction() as cursor:
                identity_links.update(cursor, project_id, scope.newest_seq, anew=False)
                removed = remove_old_events(
                    cursor,
                    project_id,
                    before=epoch_microseconds(before),
                    until=scope.newest_seq,
                    open_experiments=open_ones,
                )
                if removed:
                    identity_links.keep_without_events(cursor, project_id, scope.newest_seq)
                    published_rollups.seal(cursor, set(records).difference(open_ones))
            if removed:
                event_keys.remove(self._warehouse, project_id)
            return removed

    def forget(self, experiment_ids: Iterable[str]) -> None:
        """Remove the results of experiments."""
        forgotten = list(experiment_ids)
        with (
            self._turns.take(),
            self.publications.replacing(forgotten),
            self._warehouse.transaction() as cursor,
        ):
            for experiment_id in forgotten:
                published_rollups.withdraw(cursor, experiment_id)

    def forget_keys(self, project_id: str) -> None:
        """Remove the files of a project's keys, which the next run makes of its events."""
        with self._turns.take():
            event_keys.remove(self._warehouse, project_id)

    def pause(self) -> AbstractContextManager[None]:
        """Wait for the current run to end, and start no other inside the block."""
        return self._turns.take_long()

    def close(self) -> None:
        """Wait for the current run to end, and start no other."""
        self._turns.close()

    @contextmanager
    def _deletion_errors(self, project_id: str) -> Iterator[None]:
        """Turn any error of a run whose project was deleted meanwhile into NotFoundError."""
        try:
            yield
        except Exception:
            # Raises NotFoundError for a project that is gone, and with it the tables that the run needs.
            self._catalog.projects.find(project_id)
            raise

    def _refresh_awaited(self, project_id: str) -> None:
        with self._deletion_errors(project_id):
            project = self._catalog.projects.find(project_id)
            is_loaded = self._load_events(None)
            self._refresh(project, self._scope(project))
            if not is_loaded:
                raise WarehouseUnavailableError("acknowledged events are still in the spool")

    def _refresh(
        self, project: Project, scope: RollupScope, experiment_ids: Collection[str] | None = None
    ) -> Outcome:
        if scope.newest_seq == 0:
            return Outcome()
        due = self._selection.due(project, scope, experiment_ids)
        unchanged = self._publish(due, scope)
        self._totals.bring_up_to_date(project.id)
        changed = [one for one in due if one.experiment.id not in unchanged]
        return Outcome(
            recounted=tuple(one.experiment.id for one in changed if one.before is None),
            updated=tuple(one.experiment.id for one in changed if one.before is not None),
            covered_seq=min((one.covered_seq for one in due), default=scope.newest_seq),
            newest_seq=scope.newest_seq,
        )

    def _publish(self, due: Collection[Due], scope: RollupScope) -> Collection[str]:
        """Publish due experiments; return the ids of those of which only the record has changed."""
        with self.publications.replacing(one.experiment.id for one in due) as only_records:
            only_records.update(count_and_publish(self._warehouse, due, scope))
        if any(one.before is None for one in due):
            # A full count has read every event, and what it cached is not needed again soon.
            self._warehouse.shrink_cache()
        return only_records.keys()

    def _scope(self, project: Project) -> RollupScope:
        return RollupScope(
            project_id=project.id,
            newest_seq=newest_seq(self._warehouse, project.id) or 0,
            now=self._clock(),
            at_once=self._at_once,
        )

    def _digests(self, due: Iterable[Due]) -> dict[str, ResultDigest]:
        with self._warehouse.cursor() as cursor:
            return {one.experiment.id: ResultDigest.take(cursor, one.experiment.id) for one in due}
