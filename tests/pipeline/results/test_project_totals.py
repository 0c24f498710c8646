from datetime import datetime, timedelta
from functools import partial

import pytest

from engine.design.lifecycle import STARTED
from engine.design.project import Project
from pipeline.erasure.person_erasure import remove_from_tables
from pipeline.results.project_totals import ProjectExperiments
from pipeline.store.warehouse.visitor_totals import Totals
from tests.builders import NOW, a_goal
from tests.counted_work import counted_catalog, counted_warehouse
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


def totals(store: WorkingStore, project: Project, now: datetime = NOW) -> Totals:
    numbers = store.catalog.experiments.numbers(project.id)
    read = partial(store.catalog.experiments.of_project, project.id, STARTED)
    return store.results.project_totals.of(project, ProjectExperiments(numbers.version, read), now=now)


def test_totals_are_read_again_only_after_a_change(store: WorkingStore, project: Project) -> None:
    first, second = store.add_experiment(project), store.add_experiment(project)
    store.write(
        project, an_exposure(first, 0, "v1"), an_exposure(second, 0, "v1"), an_exposure(first, 0, "v2")
    )
    assert totals(store, project) == Totals(2, 0, 2, 0)
    with counted_warehouse(store.warehouse) as warehouse, counted_catalog(store.catalog.database) as catalog:
        assert totals(store, project) == Totals(2, 0, 2, 0)
    # Of the one minute.
    assert (warehouse.rows_scanned, catalog.documents) == (1, 0)
    store.write(project, a_purchase("v2"))
    assert totals(store, project) == Totals(2, 1, 2, 1)
    # Another primary goal, which nobody reached, and an experiment that is gone with its visitors.
    store.change(first, goals=(a_goal(id="goal_9", config={"event_name": "never"}),))
    assert totals(store, project) == Totals(2, 0, 2, 0)
    store.catalog.experiments.delete(project.id, first.id, lambda _: None, actor="test")
    assert totals(store, project) == Totals(1, 0, 1, 0)


def test_visitors_leave_the_window_by_the_minute(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    exposures = [an_exposure(experiment, 0, f"v{minute}", minute=minute) for minute in (0, 1, 2)]
    store.write(project, *exposures)
    first = datetime.fromtimestamp(exposures[0].occurred_at / 1e6, NOW.tzinfo) + timedelta(days=30)
    assert totals(store, project, first).recent_visitors == 3
    left = [totals(store, project, first + timedelta(minutes=past)).recent_visitors for past in range(4)]
    assert left == [3, 2, 1, 0]
    # A clock may be set back.
    assert totals(store, project, first - timedelta(days=1)).recent_visitors == 3


def test_an_erased_person_is_in_no_total(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    store.write(project, *(an_exposure(experiment, 0, f"v{number}") for number in range(9)))
    assert totals(store, project).visitors == 9
    key = an_exposure(experiment, 0, "v3").visitor_key
    store.rollup.erase(project.id, key, is_user=False, keep_out=lambda _: None, remove=remove_from_tables)
    assert totals(store, project).visitors == 8
