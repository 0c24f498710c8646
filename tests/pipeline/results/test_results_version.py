"""Versions of results: another one after each change that a report depends on."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.results_version import ResultsVersion
from tests.builders import NOW, STARTED
from tests.pipeline.working_store import WorkingStore, an_exposure


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def experiment(store: WorkingStore, project: Project, experiment: Experiment) -> Experiment:
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    return experiment


Change = Callable[[WorkingStore, Project, Experiment], object]
CHANGES: dict[str, Change] = {
    "an event": lambda store, project, experiment: store.write(project, an_exposure(experiment, 1, "v2")),
    "a rebuild": lambda store, project, _: store.rollup.rebuild(project.id),
    "a recorded look": lambda store, project, experiment: store.due_looks.record(
        experiment, project, now=STARTED + timedelta(days=1, hours=3)
    ),
    "an edit": lambda store, _, experiment: store.change(experiment, name="Another"),
    "another time zone": lambda store, project, _: store.catalog.projects.change(
        project.account_id,
        project.id,
        lambda one: replace(one, reporting_timezone="Asia/Tokyo"),
        actor="test",
    ),
    "removal": lambda store, _, experiment: store.rollup.forget([experiment.id]),
}


def version_of(store: WorkingStore, project: Project, experiment: Experiment, **at: Any) -> ResultsVersion:
    now = NOW + timedelta(**at)
    current = store.catalog.experiments.get(project.id, experiment.id)
    return store.results.version(current, store.catalog.projects.find(project.id), now=now)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_gives_another_version(
    store: WorkingStore, project: Project, experiment: Experiment, change: Change
) -> None:
    before = version_of(store, project, experiment)
    assert version_of(store, project, experiment) == before
    change(store, project, experiment)
    assert version_of(store, project, experiment) != before


def test_what_happens_elsewhere_gives_no_other_version(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    before = version_of(store, project, experiment)
    other = store.add_project()
    store.write(other, an_exposure(store.add_experiment(other)))
    store.rollup.rebuild(other.id)
    assert version_of(store, project, experiment) == before


def test_the_version_is_that_of_a_minute_and_of_evidence_that_of_a_day(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    versions = [version_of(store, project, experiment, seconds=seconds) for seconds in (-1, 0, 59, 60)]
    assert [versions.index(one) for one in versions] == [0, 1, 1, 3]
    evidence = [version_of(store, project, experiment, hours=hours).of_evidence for hours in (0, 11.9, 12)]
    assert [evidence.index(one) for one in evidence] == [0, 0, 2]


def test_the_version_stays_until_a_day_of_the_project_or_of_the_running_time_begins(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    # It is noon: days of the project begin at midnight, and those of the experiment at nine.
    # But for the minute.
    versions = [
        replace(version_of(store, project, experiment, hours=hours), minute=0)
        for hours in (0, 11.9, 12, 20.9, 21)
    ]
    assert [versions.index(one) for one in versions] == [0, 0, 2, 2, 4]


def test_an_end_that_becomes_final_gives_another_version(store: WorkingStore, project: Project) -> None:
    ended = store.add_experiment(project, status="completed")
    before = version_of(store, project, ended, seconds=59)
    assert replace(version_of(store, project, ended, seconds=1), minute=before.minute) == before
    assert version_of(store, project, ended, seconds=60) != before
