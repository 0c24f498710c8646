from datetime import timedelta
from pathlib import Path

import pytest

from engine.design.project import Project
from pipeline.rollup.result_digest import ResultDigest
from tests.builders import NOW
from tests.counted_work import WarehouseWork, counted_warehouse
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


def work_of_a_refresh(store: WorkingStore, project: Project) -> WarehouseWork:
    """Count the work of the second refresh after a purchase of a known visitor, when all is prepared."""
    for number in range(2):
        store.write(project, a_purchase("v1", event_id=f"p{number}-{len(store.catalog.experiments.ids())}"))
        with counted_warehouse(store.warehouse) as work:
            store.rollup.refresh(project.id)
    return work


def test_the_statements_of_a_refresh_follow_the_experiments_that_change(
    store: WorkingStore, project: Project
) -> None:
    changing = store.add_experiment(project)
    # So many visitors that those of the purchases are few.
    store.write(project, *(an_exposure(changing, 0, f"v{number}") for number in range(50)))
    counted = []
    for added in (2, 40):
        for number in range(added):
            other = store.add_experiment(project)
            store.write(project, an_exposure(other, 0, f"w{added}-{number}"))
        store.rollup.refresh(project.id)
        counted.append(work_of_a_refresh(store, project).statements)
    assert counted[0] == counted[1]


def test_experiments_without_changes_count_all_events_and_end(tmp_path: Path) -> None:
    now = NOW
    with a_working_store(tmp_path, clock=lambda: now) as store:
        project = store.add_project()
        changing, other = store.add_experiment(project), store.add_experiment(project)
        store.write(project, an_exposure(changing, 0, "v1"), an_exposure(other, 1, "v2"))
        store.rollup.refresh(project.id)
        with store.warehouse.cursor() as cursor:
            before = ResultDigest.take(cursor, other.id)
        store.write(project, a_purchase("v1"))
        ended = store.change(other, status="completed", completed_at=NOW)
        now += timedelta(hours=1)
        outcome = store.rollup.refresh(project.id)
        assert (outcome.updated, outcome.recounted) == ((changing.id,), (other.id,))
        # The new end is another period, so that it was counted anew; the next events come after it.
        store.write(project, a_purchase("v1"))
        store.rollup.refresh(project.id)
        record = store.rollup.publications.find(other.id)
        assert record is not None
        assert record.is_final
        assert store.rollup.is_fresh(ended, project)
        with store.warehouse.cursor() as cursor:
            assert before.agrees_with(ResultDigest.take(cursor, other.id))
        assert store.rollup.rebuild(project.id).drifted == ()


def test_a_record_is_brought_forward_where_no_row_changes(store: WorkingStore, project: Project) -> None:
    changing, other = store.add_experiment(project), store.add_experiment(project)
    store.write(project, an_exposure(changing, 0, "v1"), an_exposure(other, 1, "v2"))
    store.rollup.refresh(project.id)
    store.write(project, a_purchase("v1"))
    assert not store.rollup.is_fresh(other, project)
    store.rollup.refresh(project.id)
    assert store.rollup.is_fresh(other, project)
    # A visitor of the one enters the other.
    store.write(project, an_exposure(other, 0, "v1", minute=1))
    store.rollup.refresh(project.id)
    assert store.observe(other, project).visitors.sum() == 2
    assert store.rollup.rebuild(project.id).drifted == ()
