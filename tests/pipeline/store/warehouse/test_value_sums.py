from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal, read_value_sums
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_amounts_are_capped_at_a_percentile_of_positive_amounts(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    amounts = {"a": 100, "b": 200, "c": 300, "d": 9_000}
    store.write(
        project,
        *(an_exposure(experiment, 0, visitor) for visitor in [*amounts, "e"]),
        *(a_purchase(visitor, minute=2, cents=cents) for visitor, cents in amounts.items()),
    )
    store.rollup.refresh(project.id)
    goals = [SummedGoal(0, is_revenue=True, cap_percentile=75.0)]
    with store.warehouse.transaction() as cursor:
        (sums,) = read_value_sums(SelectedVisitors.everyone(cursor, experiment.id, variants=2), goals)
    assert (sums.n, sums.cap, sums.capped) == (5, 300, 1)
    assert (sums.y, sums.yy) == (900, 100**2 + 200**2 + 2 * 300**2)
    assert (sums.has_orders, sums.has_past) == (False, False)
