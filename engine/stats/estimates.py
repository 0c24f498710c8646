"""Estimates: a value per arm with its variance."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True)
class Estimate(ArrayRecord):
    """Approximately normal estimates, elementwise over arrays of one shape.

    `value` is in the metric's unit, `variance` its squared standard error, `n` the number of visitors.
    Where `defined` is False there is no estimate, and value and variance are NaN.
    """

    value: FloatArray
    variance: FloatArray
    n: FloatArray

    @classmethod
    def of(cls, moments: Moments) -> Self:
        """Estimate means from moments; not defined with fewer than two visitors."""
        enough = moments.n > 1
        value = np.where(enough, moments.mean, np.nan)
        variance = np.divide(moments.variance, moments.n, out=np.full(moments.n.shape, np.nan), where=enough)
        return cls(value, variance, moments.n)

    @property
    def defined(self) -> BoolArray:
        """True where there is an estimate."""
        return np.isfinite(self.value) & np.isfinite(self.variance)

    def minus(self, control: Self) -> Self:
        """Subtract an independent estimate; `n` is of both together."""
        return type(self)(self.value - control.value, self.variance + control.variance, self.n + control.n)

    @property
    def z(self) -> FloatArray:
        """Value over standard error; NaN where not defined or where nothing varies."""
        testable = self.defined & (self.variance > 0)
        error = np.sqrt(np.where(testable, self.variance, 1.0))
        return np.where(testable, self.value / error, np.nan)
