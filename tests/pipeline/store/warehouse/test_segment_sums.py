from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.cubes import CUBE_BASE
from pipeline.store.warehouse.segment_sums import read_segment
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_sums_of_visitor_rows_are_those_of_the_aggregates(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(
        project,
        an_exposure(experiment, 0, "a", country="DE"),
        an_exposure(experiment, 1, "b", country="DE"),
        an_exposure(experiment, 1, "c", country="US"),
        a_purchase("a", minute=2, cents=300),
        a_purchase("a", minute=3_000, cents=500),
        a_purchase("b", minute=2, cents=7 * 10**11),
    )
    store.rollup.refresh(project.id)
    with store.warehouse.transaction() as cursor:
        ahead = aggregates.read_value(cursor, experiment.id, "country", "DE")
        summed = read_segment(
            SelectedVisitors.everyone(cursor, experiment.id, variants=2).within({"country": "DE"}), 1
        )
    sums = ("cohort_total", "cohort_squared", "cohort_cubed_high", "cohort_cubed_low")
    columns = ("visitors", "conversions", "total", *sums)
    assert [summed[name].sum() for name in columns] == [ahead[name].sum() for name in columns]
    assert summed["cohort_total"].sum() == 800 + 7 * 10**11
    high, low = (int(summed[f"cohort_cubed_{part}"].sum()) for part in ("high", "low"))
    assert high * CUBE_BASE + low == 800**3 + (7 * 10**11) ** 3
