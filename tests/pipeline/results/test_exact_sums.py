import numpy as np
import polars as pl

from engine.stats.moments import PairedMoments
from pipeline.results.exact_sums import paired_moments, whole_numbers

FIRST = (np.array([0]),)


def test_numbers_beyond_64_bits_add_up_in_their_places() -> None:
    column = pl.Series([10**30, 1, 5], dtype=pl.Int128)
    laid_out = whole_numbers(column, (np.array([0, 0, 1]), np.array([1, 1, 0])), (2, 2))
    assert laid_out.tolist() == [[0, 10**30 + 1], [5, 0]]


def test_products_follow_from_the_squares_of_sums() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(-(10**9), 10**9, (2, 50))
    of_x, of_y, of_both = [
        (pl.DataFrame({"total": [int(v.sum())], "squared": [sum(int(one) ** 2 for one in v)]}), FIRST)
        for v in (x, y, x + y)
    ]
    found = paired_moments(np.array([50]), of_x, of_y, of_both, cohort="")
    wanted = PairedMoments.of(x, y)
    for name in ("n", "mean_x", "mean_y", "m2_x", "m2_y", "co"):
        np.testing.assert_allclose(getattr(found, name)[0], getattr(wanted, name), rtol=1e-9)
