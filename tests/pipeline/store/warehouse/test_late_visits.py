from datetime import date

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.store.warehouse.late_visits import LATE, LateVisits, read_late_visits
from tests.pipeline.working_store import WorkingStore, an_exposure

DAY_MINUTES = 24 * 60


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    return store.add_experiment(project)


def late_of(store: WorkingStore, experiment: Experiment) -> LateVisits:
    with store.warehouse.cursor() as cursor:
        return read_late_visits(cursor, experiment.id)


def days_in(store: WorkingStore, experiment: Experiment) -> list[int]:
    with store.warehouse.cursor() as cursor:
        query = "SELECT visits FROM late_visits WHERE experiment_id = ? ORDER BY day"
        return [visits for (visits,) in cursor.execute(query, [experiment.id]).fetchall()]


def test_late_visits_are_counted_by_experiment_and_day(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    other = store.add_experiment(project)
    assert late_of(store, experiment) == LateVisits()
    for minute in (0, DAY_MINUTES, DAY_MINUTES + 1):
        store.write(
            project,
            an_exposure(experiment, 0, f"a{minute}", minute=minute, not_counted=LATE),
            an_exposure(experiment, 1, f"b{minute}", minute=minute, not_counted=LATE),
            an_exposure(experiment, 1, "c", minute=minute, not_counted="experiment_paused"),
            an_exposure(experiment, 1, "d", minute=minute, not_counted=LATE, is_bot=True),
            an_exposure(other, 1, "e", minute=minute, not_counted=LATE),
            an_exposure(experiment, 1, "f", minute=minute),
        )
    assert days_in(store, experiment) == [2, 4]
    number, last = late_of(store, experiment)
    assert number == 6
    assert isinstance(last, date)
    assert late_of(store, other).number == 3


def test_late_visits_are_part_of_the_evidence_and_no_visitors_of_results(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, 0, "in time", sender="browser"))
    for expected in (0, 1, 2):
        store.rollup.refresh(project.id)
        evidence = store.observe(experiment, project)
        assert evidence.senders is not None
        assert evidence.senders.late_visits == expected
        assert evidence.visitors.tolist() == [1, 0]
        # What else is known of the experiment stays.
        late = an_exposure(experiment, 1, f"late {expected}", sender="browser", not_counted=LATE)
        store.write(project, late)


def test_late_visits_of_a_deleted_project_are_gone(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, 0, "late", not_counted=LATE))
    store.ingest.forget(project.id)
    assert late_of(store, experiment) == LateVisits()
