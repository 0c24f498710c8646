from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipeline.results.exports import Exports
from pipeline.results.filters import SegmentFilters
from pipeline.settings import Settings
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_the_visitors_of_a_segment_are_exported_without_a_trace(store: WorkingStore, tmp_path: Path) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(
        project,
        an_exposure(experiment, 0, "a", country="DE"),
        an_exposure(experiment, 1, "b", country="US"),
        a_purchase("a", minute=2, cents=300),
    )
    exports = Exports(store.warehouse, store.results, Settings(data_dir=tmp_path))
    with exports.visitors(experiment, project, SegmentFilters({"country": "DE"}), "parquet", now=NOW) as file:
        rows = pl.read_parquet(file.read())
    goal_id = experiment.goals[0].id
    assert rows["visitor_id"].to_list() == ["a"]
    assert rows[f"{goal_id}_revenue_cents"].to_list() == [300]
    assert list((tmp_path / "exports").iterdir()) == []
