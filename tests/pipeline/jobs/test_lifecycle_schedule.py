"""Scheduled starts that come late, and windows that pass while no job runs."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from engine.design.experiment import Experiment, StopConditions
from engine.design.project import Project
from engine.vocabulary import Status
from pipeline.jobs.lifecycle import VISITOR_LIMIT, complete_at, complete_ended, start_scheduled
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, now_of

LATER = NOW + timedelta(seconds=30)


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def test_start_that_is_late_counts_from_when_it_happened(store: WorkingStore, project: Project) -> None:
    end = NOW + timedelta(days=2)
    experiment = store.add_experiment(
        project, status="scheduled", scheduled_start_at=NOW, scheduled_end_at=end
    )
    tomorrow = NOW + timedelta(days=1)
    start_scheduled(store.catalog, now=tomorrow)
    complete_ended(store.catalog, now=tomorrow)
    assert (now_of(store, experiment).status, now_of(store, experiment).started_at) == ("running", tomorrow)


def missed(store: WorkingStore, project: Project, **fields: Any) -> Experiment:
    return store.add_experiment(
        project,
        status="scheduled",
        scheduled_start_at=NOW,
        scheduled_end_at=NOW + timedelta(microseconds=1),
        **fields,
    )


def test_missed_window_is_started_and_completed_at_its_times(store: WorkingStore, project: Project) -> None:
    experiment = missed(store, project, stop_conditions=StopConditions(visitor_limit=1))
    for _ in range(2):
        start_scheduled(store.catalog, now=LATER)
        complete_ended(store.catalog, now=LATER)
        complete_at(VISITOR_LIMIT, store.catalog, store.results, now=LATER)
    now = now_of(store, experiment)
    assert (now.status, now.started_at, now.completed_at, now.updated_at) == (
        "completed",
        NOW,
        NOW + timedelta(microseconds=1),
        LATER,
    )
    entries = [(entry.actor, entry.changes["status"]) for entry in store.catalog.audit.of(experiment.id)]
    assert entries[1:] == [
        ("scheduled start", ["scheduled", "running"]),
        ("scheduled end", ["running", "completed"]),
    ]


def test_no_reader_sees_a_missed_window_half_done(store: WorkingStore, project: Project) -> None:
    experiment = missed(store, project)
    with store.catalog.database.write() as connection:
        # As a full disk would, at the second entry.
        connection.exec_driver_sql(
            "CREATE TRIGGER no_end BEFORE INSERT ON audit WHEN new.actor = 'scheduled end' "
            "BEGIN SELECT raise(ABORT, 'disk is full'); END"
        )
    with pytest.raises(ExceptionGroup):
        start_scheduled(store.catalog, now=LATER)
    assert now_of(store, experiment) == experiment
    with store.catalog.database.write() as connection:
        connection.exec_driver_sql("DROP TRIGGER no_end")
    start_scheduled(store.catalog, now=LATER)
    assert len(store.catalog.audit.of(experiment.id)) == 3


def test_missed_window_whose_project_is_deleted_holds_up_no_other(
    store: WorkingStore, project: Project
) -> None:
    gone, kept = store.add_project(), missed(store, project)
    deleted = missed(store, gone)
    listed = store.catalog.experiments.in_statuses

    def list_then_delete(statuses: Iterable[Status]) -> list[Experiment]:
        found = listed(statuses)
        store.catalog.projects.delete(gone.account_id, gone.id, actor="key_1")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.catalog.experiments, "in_statuses", list_then_delete)
        start_scheduled(store.catalog, now=LATER)
    assert now_of(store, kept).status == "completed"
    assert store.catalog.audit.of(deleted.id)[-1].actor == "key_1"


def test_missed_window_that_is_moved_meanwhile_stays_scheduled(store: WorkingStore, project: Project) -> None:
    experiment = missed(store, project)
    with pytest.MonkeyPatch.context() as patch:
        stale = store.catalog.experiments.in_statuses(["scheduled"])
        store.change(experiment, scheduled_end_at=None, scheduled_start_at=NOW + timedelta(days=5))
        patch.setattr(store.catalog.experiments, "in_statuses", lambda _: stale)
        start_scheduled(store.catalog, now=LATER)
    assert now_of(store, experiment).status == "scheduled"
