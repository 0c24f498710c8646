import polars as pl

from pipeline.rollup.segment_values import MOST_VALUES, SegmentValues
from pipeline.store.warehouse.segment_dimensions import CUSTOM, DIMENSIONS


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
