"""The form of sums: types of columns, and one table of all rows."""

from typing import Any

import polars as pl
import pytest

from engine.errors import InvalidDesignError
from pipeline.results.outside.outside_sums import CELLS, OutsideSums
from tests.builders import NOW

BASIS: dict[str, Any] = {"source": "lake", "fingerprint": "f", "watermark": NOW}


def test_columns_that_are_left_out_are_null_and_whole_numbers_fit() -> None:
    sums = OutsideSums(**BASIS, cells=pl.DataFrame({"visitors": pl.Series([2], dtype=pl.UInt8)}))
    assert sums.cells.schema == CELLS
    assert sums.cells["visitors"].to_list() == [2]
    assert sums.cells["cohort_squared"].to_list() == [None]


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pl.Series("visitors", [1.0]), "visitors: has Float64, and not whole numbers"),
        (pl.Series("visitors", [2**63], dtype=pl.UInt64), "visitors: has numbers that do not fit into Int64"),
        (pl.Series("day", ["2026-03-01"]), "day: has String, and not Date"),
        (pl.Series("revenue", [1]), "revenue: is no column of sums"),
    ],
)
def test_other_columns_are_refused_by_name(column: pl.Series, sentence: str) -> None:
    with pytest.raises(InvalidDesignError) as raised:
        OutsideSums(**BASIS, cells=column.to_frame())
    assert str(raised.value) == sentence


def test_the_digest_is_of_the_content_in_any_order() -> None:
    cells = pl.DataFrame({"variant": ["a", "b"], "visitors": [1, 2]})
    sums = OutsideSums(**BASIS, cells=cells)
    assert sums.digest == OutsideSums(**BASIS, cells=cells.reverse()).digest
    assert sums.digest != OutsideSums(**BASIS, cells=cells.with_columns(visitors=pl.lit(2))).digest
    assert sums.digest != OutsideSums(**{**BASIS, "fingerprint": "g"}, cells=cells).digest


def test_a_table_needs_the_kind_of_each_row() -> None:
    cells = pl.DataFrame({"variant": ["a"], "visitors": [1]})
    with pytest.raises(InvalidDesignError, match="kind_of_row: is missing: cell, product or extreme"):
        OutsideSums.of_table(cells, **BASIS)
    with pytest.raises(InvalidDesignError, match="kind_of_row: is cell, product or extreme, not 'row'"):
        OutsideSums.of_table(cells.with_columns(kind_of_row=pl.lit("row")), **BASIS)
    with pytest.raises(InvalidDesignError, match="shoes: is no column of sums"):
        OutsideSums.of_table(cells.with_columns(kind_of_row=pl.lit("cell"), shoes=pl.lit(1)), **BASIS)
