from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.events.hashing import hash64
from pipeline.store.warehouse.visitor_history import AssignmentQuery, first_variants
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_the_first_variant_in_order_of_commits_stays(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(
        project,
        an_exposure(experiment, 1, "a", minute=9),
        an_exposure(experiment, 0, "a", minute=1),
        an_exposure(experiment, 0, "b", minute=-1),
    )
    query = AssignmentQuery(
        project_id=project.id,
        experiment_id=experiment.id,
        variant_ids=[variant.id for variant in experiment.variants],
        started_us=0,
        after_seq=0,
        up_to_seq=2,
    )
    found = first_variants(store.warehouse, query)
    assert found.visitor_keys.tolist() == [hash64("a")]
    assert found.variants.tolist() == [1]
