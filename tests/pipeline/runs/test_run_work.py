"""Work of each kind of runs, on a store."""

from datetime import timedelta
from typing import Any

import pytest

from engine.design.project import Project
from pipeline.store.catalog.runs.run_record import Kind, Run
from tests.builders import NOW, STARTED
from tests.pipeline.working_store import WorkingStore, an_exposure


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def carried_out(store: WorkingStore, project: Project, kind: Kind, **parameters: Any) -> Run:
    run = Run(project_id=project.id, kind=kind, trigger="command_line", parameters=parameters, created_at=NOW)
    ended = store.runner.carry_out(run)
    assert store.catalog.runs.get(project.id, run.id) == ended.run
    return ended.run


def damage(store: WorkingStore, experiment_id: str) -> None:
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'UPDATE "aggregates_{experiment_id}" SET visitors = 7')  # noqa: S608 (an id of our own)


def test_a_rollup_counts_new_events_only(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    store.write(project, *(an_exposure(experiment, 0, f"v{number}") for number in range(3)))
    assert carried_out(store, project, "rollup").events == 3
    store.write(project, an_exposure(experiment, 1, "other"), an_exposure(experiment, 1, "v0", is_bot=True))
    run = carried_out(store, project, "rollup")
    assert (run.status, run.events, run.result["updated"]) == ("done", 2, [experiment.id])
    run = carried_out(store, project, "rollup")
    assert (run.status, run.events, run.visitors) == ("done", 0, 0)


def test_a_rebuild_reports_drift_and_repairs_it(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment, 0, "a"), an_exposure(experiment, 1, "b"))
    store.rollup.refresh(project.id)
    damage(store, experiment.id)
    run = carried_out(store, project, "rebuild")
    assert (run.status, run.drift, run.events, run.visitors) == ("drift", (experiment.id,), 2, 2)
    assert carried_out(store, project, "rebuild").status == "done"


def test_a_rebuild_of_days_recounts_the_experiments_that_ran_on_them(
    store: WorkingStore, project: Project
) -> None:
    early = store.add_experiment(project)
    late = store.add_experiment(project, started_at=STARTED + timedelta(days=5))
    store.write(project, an_exposure(early, 0, "a"), an_exposure(late, 0, "b", minute=6 * 24 * 60))
    store.rollup.refresh(project.id)
    damage(store, early.id)
    damage(store, late.id)
    first = STARTED.date()
    days = {"from": first.isoformat(), "to": (first + timedelta(days=4)).isoformat()}
    assert carried_out(store, project, "rebuild", days=days).drift == (early.id,)
    assert carried_out(store, project, "rebuild").drift == (late.id,)


def test_a_snapshot_says_what_it_has_written(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment, 0, "a"))
    store.rollup.refresh(project.id)
    run = carried_out(store, project, "snapshot")
    folder = store.snapshots.folder / project.id
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    assert (run.status, run.events, run.result["bytes"]) == ("done", 1, size)
    assert run.result["experiments"] == [experiment.id]
