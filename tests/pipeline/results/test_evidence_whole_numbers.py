import numpy as np
import polars as pl

from pipeline.results.evidence import whole_numbers


def test_numbers_beyond_64_bits_add_up_in_their_places() -> None:
    column = pl.Series([10**30, 1, 5], dtype=pl.Int128)
    laid_out = whole_numbers(column, (np.array([0, 0, 1]), np.array([1, 1, 0])), (2, 2))
    assert laid_out.tolist() == [[0, 10**30 + 1], [5, 0]]
