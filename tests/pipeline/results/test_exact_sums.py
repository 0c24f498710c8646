import numpy as np
import polars as pl

from engine.stats.paired_moments import PairedMoments
from pipeline.results.exact_sums import paired_moments, whole_numbers
from pipeline.store.warehouse.cubes import cube_parts

FIRST = (np.array([0]),)


def test_numbers_beyond_64_bits_add_up_in_their_places() -> None:
    column = pl.Series([10**30, 1, 5], dtype=pl.Int128)
    laid_out = whole_numbers(column, (np.array([0, 0, 1]), np.array([1, 1, 0])), (2, 2))
    assert laid_out.tolist() == [[0, 10**30 + 1], [5, 0]]


def test_products_of_two_and_three_follow_from_the_powers_of_sums_and_differences() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(-(10**9), 10**9, (2, 50))
    # Cubes beyond what one column holds of one visitor.
    x[0] = 10**14
    sums = []
    for values in (x, y, y + x, y - x):
        high, low = cube_parts(pl.col("v"))
        cubes = pl.DataFrame({"v": values}).select(cubed_high=high.sum(), cubed_low=low.sum())
        powers = [sum(int(one) ** power for one in values) for power in (1, 2)]
        columns = {"total": [powers[0]], "squared": pl.Series([powers[1]], dtype=pl.Int128)}
        sums.append((pl.DataFrame(columns).hstack(cubes), FIRST))
    found = paired_moments(np.array([50]), *sums, cohort="")
    wanted = PairedMoments.of(x, y)
    for name in ("n", "mean_x", "mean_y", "m2_x", "m2_y", "co", "m3_x", "xxy", "xyy", "m3_y"):
        np.testing.assert_allclose(getattr(found, name)[0], getattr(wanted, name), rtol=1e-9)
