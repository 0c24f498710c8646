from pathlib import Path

import polars as pl
import pytest

from pipeline.rollup.segment_values import MOST_VALUES, SegmentValues
from pipeline.store.warehouse.segment_dimensions import CUSTOM, DIMENSIONS
from tests.pipeline.working_store import a_working_store, an_exposure


def rows(**columns: list[str | None]) -> pl.DataFrame:
    height = len(next(iter(columns.values())))
    texts = {name: columns.get(name, [None] * height) for name in (*DIMENSIONS, CUSTOM)}
    return pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)).cast(pl.Categorical)


def test_values_keep_their_codes_when_others_follow() -> None:
    values = SegmentValues()
    first = values.encode(rows(country=["US", None]))["country"].to_list()
    second = values.encode(rows(country=["DE", "US"]))["country"].to_list()
    assert (first, second) == ([0, None], [1, 0])


def test_a_dimension_with_many_values_is_not_small() -> None:
    values = SegmentValues()
    values.encode(rows(region=[f"r{number}" for number in range(MOST_VALUES + 1)]))
    assert values.count_values()["region"] == MOST_VALUES + 1
    assert values.dimensions() - values.small_dimensions() == {"region"}
    assert len(values.first_values({"region"})["region"]) == MOST_VALUES


@pytest.mark.parametrize("most_values", [200, 1])
def test_values_of_bots_and_of_visitors_left_out_are_no_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_values: int
) -> None:
    # With 1, the browsers are read from visitor rows.
    monkeypatch.setattr("pipeline.rollup.segment_values.MOST_VALUES", most_values)
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
