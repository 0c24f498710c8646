"""Beta distributions, with densities to full precision at any size."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.frequentist.hypergeometric import log_binomial, stirling_error


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta distributions with shapes `a` and `b` of at least 1, one row of them."""

    a: FloatArray
    b: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The expected value."""
        return self.a / (self.a + self.b)

    @property
    def deviation(self) -> FloatArray:
        """The standard deviation."""
        deviation: FloatArray = np.sqrt(self.a * self.b / (self.a + self.b + 1.0)) / (self.a + self.b)
        return deviation

    @property
    def is_whole(self) -> BoolArray:
        """True where both shapes are whole numbers, as after counts under a flat prior."""
        whole: BoolArray = (self.a == np.floor(self.a)) & (self.b == np.floor(self.b))
        return whole

    def __getitem__(self, where: BoolArray | slice) -> Self:
        """Take the distributions that a mask or a slice picks."""
        return type(self)(self.a[where], self.b[where])

    def density(self, x: FloatArray) -> FloatArray:
        """Density at `x`, which has a last axis more: a binomial probability, which loses no digits."""
        n, hits, share = (self.a + self.b - 2.0)[:, None], (self.a - 1.0)[:, None], np.clip(x, 0.0, 1.0)
        density: FloatArray = (n + 1.0) * np.exp(log_binomial(hits, n, share, 1.0 - share))
        return np.where(x <= 1.0, density, 0.0)

    def smooth_density(self, x: FloatArray) -> FloatArray:
        """Density without the edge cases: both shapes above 1 and `x` inside (0, 1)."""
        n, hits, misses = self.a + self.b - 2.0, self.a - 1.0, self.b - 1.0
        log_scale = stirling_error(n) - stirling_error(hits) - stirling_error(misses)
        log_scale += np.log(n + 1.0) + 0.5 * np.log(n / (2.0 * np.pi * hits * misses))
        expected = n[:, None] * x
        gap = expected - hits[:, None]
        # In place: most of the time goes into moving arrays, not into logarithms.
        log_density = np.subtract(n[:, None], expected)
        np.log1p(np.divide(gap, log_density, out=log_density), out=log_density)
        log_density *= -misses[:, None]
        np.divide(gap, expected, out=gap)
        np.log1p(np.negative(gap, out=gap), out=gap)
        gap *= hits[:, None]
        log_density -= gap
        log_density += log_scale[:, None]
        return np.exp(log_density, out=log_density)

    @property
    def log_cumulants(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The first four of the logarithm: polygamma functions of `a` less those of a + b.

        By the first two terms of their series in 1 / (a - 1/2): not for small shapes.
        """
        part, whole = self.a - 0.5, self.a + self.b - 0.5
        return (
            np.log(part / whole) + (part**-2 - whole**-2) / 24.0,
            1.0 / part - 1.0 / whole - (part**-3 - whole**-3) / 12.0,
            whole**-2 - part**-2,
            2.0 * (part**-3 - whole**-3),
        )
