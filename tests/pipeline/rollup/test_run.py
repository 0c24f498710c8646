from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_first(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment), an_exposure(experiment, 1, "v2"), a_purchase(minute=1))

    evidence = store.observe(experiment, project)

    assert evidence.visitors.tolist() == [1, 1]
    assert evidence.conversions.tolist() == [[1, 0]]
