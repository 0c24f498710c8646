from datetime import datetime, timedelta

import pytest

from engine.design.experiment import Experiment
from engine.design.pauses import Pause
from engine.design.running_time import running_days
from pipeline.imports.imported_experiment import pause_since_last_visitor
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore

DAY = timedelta(days=1)


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def imported(store: WorkingStore, experiment: Experiment, *, last: datetime | None, now: datetime) -> float:
    """Running days at the import, as they are stored."""
    pause_since_last_visitor(store.catalog, experiment, last=last, now=now)
    return running_days(store.catalog.experiments.get(experiment.project_id, experiment.id), until=now)


def test_running_days_end_at_the_last_visitor(store: WorkingStore) -> None:
    experiment = store.add_experiment(store.add_project())
    assert imported(store, experiment, last=STARTED + 10 * DAY, now=STARTED + 400 * DAY) == 10
    # From the import on it runs again.
    current = store.catalog.experiments.get(experiment.project_id, experiment.id)
    assert running_days(current, until=STARTED + 402 * DAY) == 12


def test_later_visitors_end_the_pause_of_an_earlier_import(store: WorkingStore) -> None:
    experiment = store.add_experiment(store.add_project())
    assert imported(store, experiment, last=STARTED + 7 * DAY, now=STARTED + 20 * DAY) == 7
    assert imported(store, experiment, last=STARTED + 7 * DAY, now=STARTED + 30 * DAY) == 7
    assert imported(store, experiment, last=STARTED + 14 * DAY, now=STARTED + 31 * DAY) == 14


def test_pauses_before_the_last_visitor_stay(store: WorkingStore) -> None:
    pause = Pause(started_at=STARTED + DAY, ended_at=STARTED + 3 * DAY)
    experiment = store.add_experiment(store.add_project(), pauses=(pause,))
    assert imported(store, experiment, last=STARTED + 9 * DAY, now=STARTED + 20 * DAY) == 7


@pytest.mark.parametrize(
    ("status", "last"),
    [
        ("completed", STARTED + DAY),
        ("running", None),
        ("running", STARTED + 5 * DAY),
    ],
)
def test_nothing_is_paused_without_a_gap(store: WorkingStore, status: str, last: datetime | None) -> None:
    times = {"completed_at": STARTED + 5 * DAY} if status == "completed" else {}
    experiment = store.add_experiment(store.add_project(), status=status, **times)
    assert imported(store, experiment, last=last, now=STARTED + 5 * DAY) == 5
    assert store.catalog.experiments.get(experiment.project_id, experiment.id).pauses == ()
