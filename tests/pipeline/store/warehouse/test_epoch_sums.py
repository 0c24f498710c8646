from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.local_days import epoch_microseconds
from pipeline.store.warehouse.epoch_sums import read_epochs
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_visitors_are_summed_by_the_epoch_of_their_first_exposure(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(
        project,
        an_exposure(experiment, 0, "a"),
        an_exposure(experiment, 0, "b", minute=10),
        an_exposure(experiment, 0, "c", minute=20),
        a_purchase("c", minute=21, cents=300),
    )
    store.rollup.refresh(project.id)
    start = epoch_microseconds(STARTED)
    minute = 60_000_000
    starts = [(start, start), (start + 5 * minute, start + 15 * minute)]
    with store.warehouse.transaction() as cursor:
        sums = read_epochs(SelectedVisitors.everyone(cursor, experiment.id, variants=2), 1, starts).sort(
            "epoch"
        )
    columns = ("epoch", "visitors", "settled", "conversions", "total", "squared", "cubed_low")
    assert sums.select(columns).rows() == [(0, 1, 1, 0, 0, 0, 0), (1, 2, 1, 1, 300, 90_000, 27_000_000)]
    assert sums["cubed_high"].to_list() == [0, 0]
