"""Stores for a test or for a module, and a project in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.working_store import WorkingStore, a_working_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture(scope="module")
def module_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    """Open one store for all tests of a module, which override `store` with it."""
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    return store.add_experiment(project)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RestartableService]:
    """A service that a test of jobs restarts."""
    opened = RestartableService(tmp_path)
    opened.start()
    yield opened
    opened.stop()
