"""Chances of one Beta variable to exceed another against exact fractions and SciPy's adaptive quadrature."""

import os
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from engine.stats.bayesian.beta import Beta
from engine.stats.bayesian.beta_probability import chance
from engine.stats.bayesian.beta_ratio import ratios_with_chance

SHAPES = [
    (119, 1295, 120, 1300),
    (1001, 19001, 1081, 18921),
    (60, 300, 90, 400),
    (101, 10_000, 150, 9000),
    (500, 150, 4800, 1600),
    (2, 10, 3, 9),
    (1, 101, 9, 93),
    (98, 4, 95, 7),
    (51, 2_000_000, 4100, 200_000_000),
    (6, 995, 5001, 995_001),
    (5001, 995_001, 6, 995),
]


def beta(a: float, b: float) -> Beta:
    return Beta(np.array([float(a)]), np.array([float(b)]))


def exact_chance(a: int, b: int, c: int, d: int) -> Fraction:
    """P(X > Y) for whole shapes: a successes come before b failures, taken over the other's posterior."""

    def beta_function(p: int, q: int) -> Fraction:
        return Fraction(factorial(p - 1) * factorial(q - 1), factorial(p + q - 1))

    terms = (comb(b + i - 1, i) * beta_function(c + i, d + b) for i in range(a))
    return sum(terms, Fraction(0)) / beta_function(c, d)


def chance_by_quadrature(a: float, b: float, c: float, d: float, ratio: float) -> float:
    # SciPy multiplies whole shapes as 64-bit integers, and overflows.
    x, y = stats.beta(float(a), float(b)), stats.beta(float(c), float(d))
    marks = np.concatenate(
        [
            y.mean() + y.std() * np.array([-14.0, -6, -2, 0, 2, 6, 14, 40]),
            (x.mean() + x.std() * np.array([-8.0, -4, -2, 0, 2, 4, 8])) / ratio,
        ]
    )
    ends = np.unique(np.clip(np.r_[0.0, marks, 1.0], 0.0, min(1.0, 1 / ratio)))
    parts = [
        integrate.quad(lambda v: y.pdf(v) * x.sf(ratio * v), low, high, epsabs=1e-14, epsrel=1e-12)[0]
        for low, high in pairwise(ends)
    ]
    return float(sum(parts))


def fractional_shapes(seed: int, rows: int) -> tuple[Beta, Beta]:
    """Shapes of counts with a prior from the pre-period, which are no whole numbers, from 1 to thousands."""
    rng = np.random.default_rng(seed)
    size, rate = (
        10.0 ** rng.uniform(0, 3.5, (2, rows)),
        rng.uniform(0, 0.95, rows) ** rng.choice([1, 2, 6], rows),
    )
    a, c = 1.0 + size * rate * rng.uniform(0.8, 1.2, (2, rows))
    b, d = 1.0 + size * (1.0 - rate) * rng.uniform(0.0, 1.0, (2, rows))
    return Beta(a, b), Beta(c, d)


def chance_over_log_odds(x: Beta, y: Beta, ratio: float = 1.0) -> float:
    """P(X > ratio · Y) by SciPy's adaptive quadrature over the log odds of Y, for one row of any shapes."""
    (a, b), (c, d) = (x.a.item(), x.b.item()), (y.a.item(), y.b.item())

    def part(log_odds: float) -> float:
        log_density = -c * np.logaddexp(0, -log_odds) - d * np.logaddexp(0, log_odds) - special.betaln(c, d)
        return float(np.exp(log_density) * special.betaincc(a, b, min(ratio * special.expit(log_odds), 1.0)))

    tails = np.array([1e-10, 1e-5, 0.01, 0.1, 0.5, 0.9, 0.99, 1 - 1e-5])
    steps = special.logit(np.r_[special.betaincinv(a, b, tails), 1.0] / ratio)
    marks = np.log(c / d) + np.hypot(c**-0.5, d**-0.5) * np.arange(-10.0, 11.0, 2.0)
    ends = np.unique(np.clip(np.r_[-60.0, 60.0, marks, steps[np.isfinite(steps)]], -60.0, 60.0))
    return sum(integrate.quad(part, low, high, epsabs=1e-14, epsrel=1e-13)[0] for low, high in pairwise(ends))


def test_shapes_that_are_not_whole_have_the_chance_that_scipy_integrates() -> None:
    x, y = fractional_shapes(1, 60)
    expected = [chance_over_log_odds(x[i : i + 1], y[i : i + 1]) for i in range(60)]
    np.testing.assert_allclose(chance(x, y), expected, rtol=0, atol=1e-9)


def test_identical_posteriors_are_even_whatever_their_shapes() -> None:
    x, _ = fractional_shapes(2, 2000)
    np.testing.assert_allclose(chance(x, x), 0.5, rtol=0, atol=1e-9)


def test_bounds_of_shapes_that_are_not_whole_have_their_chance() -> None:
    x, y = fractional_shapes(3, 25)
    for target, ratios in zip((0.95, 0.5, 0.025), ratios_with_chance(x, y, (0.95, 0.5, 0.025)), strict=True):
        found = [chance_over_log_odds(x[i : i + 1], y[i : i + 1], ratios[i]) for i in range(25)]
        np.testing.assert_allclose(found, target, rtol=0, atol=1e-8)


@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 70), st.integers(1, 70))
def test_small_shapes_have_the_exact_chance(a: int, b: int, c: int, d: int) -> None:
    found = chance(beta(a, b), beta(c, d))[0]
    assert found == pytest.approx(float(exact_chance(a, b, c, d)), rel=1e-9, abs=1e-13)


def test_rare_conversions_of_many_have_the_exact_chance() -> None:
    # Ten and one of a thousand.
    exact = float(exact_chance(11, 991, 2, 1000))
    assert chance(beta(11, 991), beta(2, 1000))[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("shapes", SHAPES)
def test_chance_is_the_integral(shapes: tuple[int, int, int, int]) -> None:
    a, b, c, d = shapes
    found = chance(beta(a, b), beta(c, d))[0]
    assert found == pytest.approx(chance_by_quadrature(a, b, c, d, 1.0), abs=1e-11)


@pytest.mark.parametrize("shapes", SHAPES)
def test_a_ratio_with_a_chance_has_that_chance(shapes: tuple[int, int, int, int]) -> None:
    a, b, c, d = shapes
    x, y = beta(a, b), beta(c, d)
    chances = (0.999, 0.95, 0.5, 0.025)
    for ratio, target in zip(ratios_with_chance(x, y, chances), chances, strict=True):
        assert chance_by_quadrature(a, b, c, d, ratio[0]) == pytest.approx(target, abs=1e-10)


@given(*[st.integers(1, 10**7) for _ in range(4)])
def test_one_of_the_two_is_higher(a: int, b: int, c: int, d: int) -> None:
    both = chance(beta(a, b), beta(c, d))[0] + chance(beta(c, d), beta(a, b))[0]
    assert both == pytest.approx(1.0, abs=1e-10)


def test_equal_posteriors_are_even() -> None:
    for size in (1, 30, 51, 10**8):
        assert chance(beta(size, 3 * size), beta(size, 3 * size))[0] == pytest.approx(0.5, abs=1e-11)


def test_many_rows_are_each_what_they_are_alone() -> None:
    rng = np.random.default_rng(4)
    a, b, c, d = rng.integers(30, 3000, (4, 600)).astype(np.float64)
    x, y = Beta(a, b), Beta(c, d)
    together = [chance(x, y), *ratios_with_chance(x, y, (0.95, 0.05))]
    for row in range(0, 600, 37):
        one = Beta(a[row : row + 1], b[row : row + 1]), Beta(c[row : row + 1], d[row : row + 1])
        alone = [chance(*one), *ratios_with_chance(*one, (0.95, 0.05))]
        for many, single in zip(together, alone, strict=True):
            assert many[row] == pytest.approx(single[0], rel=1e-10)


# The kernels of this type start threads for the smallest products; elsewhere the name is ignored.
TWO_THREADS = {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Haswell"}
WORKERS_PROGRAM = """
import os
from pathlib import Path

import numpy as np

from engine.stats.bayesian.beta import Beta
from engine.stats.bayesian.beta_probability import chance

def nanoseconds():
    tasks = [task for task in Path("/proc/self/task").iterdir() if int(task.name) != os.getpid()]
    return {task.name: int((task / "schedstat").read_text().split()[0]) for task in tasks}

def workers_of(work):
    before = nanoseconds()
    work()
    return sum(nanoseconds()[name] > spent for name, spent in before.items())

shapes = np.full(1_000, 400.0)
wide, narrow = Beta(shapes, 2 * shapes), Beta(shapes, 3 * shapes)
# The first call makes the nodes, which is a product of its own.
chance(wide, narrow)
while workers_of(lambda: None):
    pass
ours = workers_of(lambda: chance(wide, narrow))
print(len(nanoseconds()) > 0, ours, workers_of(lambda: np.ones((4_000, 400)) @ np.ones((400, 400))) > 0)
"""


def test_the_quadrature_wakes_no_thread_of_the_linear_algebra() -> None:
    command = [sys.executable, "-c", WORKERS_PROGRAM]
    environment = {**os.environ, **TWO_THREADS}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    has_workers, woken_by_quadrature, large_product_wakes = ran.stdout.split()
    assert (has_workers, woken_by_quadrature, large_product_wakes) == ("True", "0", "True")
