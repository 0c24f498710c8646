"""A project with counted visitors, and the folder of its snapshot."""

from pathlib import Path
from typing import Any

from engine.design.experiment import Experiment
from engine.design.project import Project
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure


def counted(store: WorkingStore, **overrides: Any) -> tuple[Project, Experiment]:
    """Two visitors of a running experiment, one of whom bought twice, on two days."""
    project = store.add_project()
    experiment = store.add_experiment(project, **overrides)
    store.write(
        project,
        an_exposure(experiment, 0, "v1", device_type="mobile", custom='{"plan":"pro"}'),
        an_exposure(experiment, 1, "v2", minute=1),
        a_purchase("v1", minute=2, cents=1250),
        a_purchase("v1", minute=60 * 24, cents=250),
    )
    store.rollup.refresh(project.id)
    return project, experiment


def folder_of(store: WorkingStore, project: Project) -> Path:
    return store.snapshots.folder / project.id
