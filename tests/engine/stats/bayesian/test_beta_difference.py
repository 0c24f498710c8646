import numpy as np
import pytest
from scipy import integrate, stats

from engine.stats.bayesian.beta import Beta
from engine.stats.bayesian.beta_difference import differences_with_chance
from engine.stats.bayesian.beta_probability import chance


def of(a: float, b: float) -> Beta:
    return Beta(np.array([a], float), np.array([b], float))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((1, 1), (1, 1)),
        ((1, 11), (1, 21)),
        ((11, 1), (1, 11)),
        ((6, 9996), (2, 9999)),
        ((1090, 8912), (1001, 9001)),
        ((61, 41), (51, 951)),
        ((1, 100_001), (101, 99_901)),
    ],
)
@pytest.mark.parametrize("tail", [0.25, 0.025, 1e-4])
def test_quantiles_have_their_chance_by_scipys_integral(
    x: tuple[int, int], y: tuple[int, int], tail: float
) -> None:
    of_x, of_y = stats.beta(*x), stats.beta(*y)
    for (at,), wanted in zip(
        differences_with_chance(of(*x), of(*y), (1 - tail, tail)), (1 - tail, tail), strict=True
    ):
        d = float(at)
        low, high = max(of_y.ppf(1e-15), -d, 0.0), min(of_y.isf(1e-15), 1.0 - d, 1.0)
        inside = integrate.quad(
            lambda p, d=d: of_y.pdf(p) * of_x.sf(p + d), low, high, epsabs=1e-12, limit=500
        )[0]
        assert inside + of_y.cdf(low) == pytest.approx(wanted, rel=2e-4, abs=1e-8)


def test_a_difference_of_nothing_is_the_chance_to_beat() -> None:
    x, y = of(1090, 8912), of(1001, 9001)
    (at,) = differences_with_chance(x, y, (float(chance(x, y)[0]),))
    assert at[0] == pytest.approx(0.0, abs=1e-6)
