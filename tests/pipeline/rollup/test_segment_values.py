from pathlib import Path

import polars as pl
import pytest

from pipeline.rollup.segment_codes import MOST_VALUES
from pipeline.rollup.segment_values import SegmentValues
from tests.pipeline.working_store import a_working_store, an_exposure


def test_only_some_values_of_a_dimension_with_many_are_offered() -> None:
    texts = [f"r{number}" for number in range(MOST_VALUES + 1)]
    known = pl.DataFrame({"value": texts}).with_row_index("code").with_columns(dimension=pl.lit("region"))
    values = SegmentValues(known)
    assert values.count_values()["region"] == MOST_VALUES + 1
    assert values.first_values({"region"})["region"] == texts[:MOST_VALUES]


@pytest.mark.parametrize("most_values", [200, 1])
def test_values_of_bots_and_of_visitors_left_out_are_no_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_values: int
) -> None:
    # With 1, the browsers are read from visitor rows.
    for module in ("segment_codes", "segment_values"):
        monkeypatch.setattr(f"pipeline.rollup.{module}.MOST_VALUES", most_values)
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(
            project,
            an_exposure(experiment, 0, "bot", browser="Googlebot", custom='{"who":"bot"}', is_bot=True),
            an_exposure(experiment, 0, "both", browser="Edge"),
            an_exposure(experiment, 1, "both", browser="Edge"),
            an_exposure(experiment, 1, "v1", browser="Safari", custom='{"who":"person"}'),
        )
        store.rollup.refresh(project.id)
        offered = store.results.available_segments(experiment)
        assert offered["browsers"] == ["Safari"]
        assert [one["values"] for one in offered["custom_dimensions"]] == [["person"]]
