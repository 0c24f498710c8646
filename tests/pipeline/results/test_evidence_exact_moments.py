from fractions import Fraction

import numpy as np
import polars as pl

from pipeline.results.evidence import moments_of_sums, whole_numbers


def test_moments_of_sums_are_those_of_exact_fractions() -> None:
    values = [10**14 + 7 * number for number in range(9)]
    total, squares = sum(values), sum(value**2 for value in values)
    found = moments_of_sums(np.array([9, 0]), np.array([total, 0], object), np.array([squares, 0], object))
    mean = Fraction(total, 9)
    assert found.mean[0] == float(mean)
    assert found.m2[0] == float(sum((value - mean) ** 2 for value in values))
    assert (found.n[1], found.mean[1], found.m2[1]) == (0, 0, 0)


def test_numbers_beyond_64_bits_add_up_in_their_places() -> None:
    column = pl.Series([10**30, 1, 5], dtype=pl.Int128)
    laid_out = whole_numbers(column, (np.array([0, 0, 1]), np.array([1, 1, 0])), (2, 2))
    assert laid_out.tolist() == [[0, 10**30 + 1], [5, 0]]
