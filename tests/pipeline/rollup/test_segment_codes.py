import polars as pl

from pipeline.rollup.segment_codes import MOST_CUSTOM_KEYS, MOST_VALUES, SegmentCodes
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.segment_dimensions import CUSTOM


def rows(experiments: list[int], **columns: list[str | None]) -> pl.DataFrame:
    texts = {name: columns.get(name, [None] * len(experiments)) for name in (*DIMENSIONS, CUSTOM)}
    categories = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)).cast(pl.Categorical)
    return categories.with_columns(pl.Series("experiment", experiments, pl.UInt16))


def test_each_experiment_numbers_its_values_in_order_of_appearance() -> None:
    codes = SegmentCodes()
    first = codes.encode(rows([0, 0, 1], country=["US", None, "DE"]))["country"].to_list()
    second = codes.encode(rows([0, 0, 1], country=["DE", "US", "DE"]))["country"].to_list()
    assert (first, second) == ([0, None, 0], [1, 0, 0])


def test_codes_of_many_rows_are_those_of_few() -> None:
    experiments, countries = [0, 2, 2, 0], ["US", None, "US", "DE"]
    few, many = SegmentCodes(), SegmentCodes()
    expected = few.encode(rows(experiments, country=countries))["country"].to_list()
    assert (
        many.encode(rows(experiments * 500, country=countries * 500))["country"].to_list() == expected * 500
    )
    assert expected == [1, None, 0, 0]
    assert many.take_new_values().equals(few.take_new_values())


def test_known_values_keep_their_codes_and_only_further_ones_are_new() -> None:
    codes = SegmentCodes()
    codes.encode(rows([0, 0, 1], country=["US", "DE", "US"]))
    again = SegmentCodes(codes.take_new_values())
    assert again.encode(rows([0, 0, 1], country=["AT", "US", None]))["country"].to_list() == [2, 1, None]
    assert again.take_new_values().rows() == [(0, "country", 2, "AT")]
    assert again.take_new_values().is_empty()


def test_a_dimension_is_large_in_the_experiment_with_many_values_of_it_only() -> None:
    codes = SegmentCodes()
    regions = [f"r{number}" for number in range(MOST_VALUES + 1)]
    codes.encode(rows([0] * len(regions) + [1] * MOST_VALUES, region=[*regions, *regions[1:]]))
    assert codes.large_dimensions().rows() == [(0, "region")]


def test_custom_dimensions_beyond_the_first_by_name_are_large() -> None:
    codes = SegmentCodes()
    texts = [f'{{"k{number:03}":"a"}}' for number in range(MOST_CUSTOM_KEYS + 2)]
    codes.encode(rows([0] * len(texts) + [1], custom=[*texts, texts[-1]]))
    large = sorted(codes.large_dimensions().rows())
    assert large == [(0, f"custom:k{MOST_CUSTOM_KEYS:03}"), (0, f"custom:k{MOST_CUSTOM_KEYS + 1:03}")]


def test_only_the_custom_keys_of_the_project_are_told_apart() -> None:
    codes = SegmentCodes(custom_keys={"plan"})
    codes.encode(rows([0], custom=['{"plan":"pro","tier":"a"}']))
    assert codes.custom_values().rows() == [(0, 0, "custom:plan", "pro")]
