"""Stopping rules and their power: fixed horizon, always-valid, group sequential."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray
from engine.stats.sequential import confidence_sequence_boundary
from engine.stats.sequential.group_sequential import crossing_probability, drift_for_power, obrien_fleming

StoppingMethod = Literal["fixed", "always_valid", "group_sequential"]


def _fixed(_looks: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    return np.ones(1), np.full(1, -scipy.special.ndtri(alpha / 2.0))


def _always_valid(fractions: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    return fractions, confidence_sequence_boundary.critical_value(fractions, alpha)


def _group_sequential(fractions: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    return fractions, obrien_fleming(fractions, alpha)


# From the information fractions of looks and alpha to those that count, and the critical |z| of each.
Boundary = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]
_BOUNDARIES: Mapping[StoppingMethod, Boundary] = MappingProxyType(
    {"fixed": _fixed, "always_valid": _always_valid, "group_sequential": _group_sequential}
)


@dataclass(frozen=True, slots=True)
class Stopping:
    """A stopping rule with `looks` evenly spaced up to the planned sample; a fixed horizon has one.

    Looks before `first_look`, counted from 1, do not count: nothing is decided at them.
    """

    method: StoppingMethod = "fixed"
    looks: int = 28
    first_look: int = 1

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown method, number of looks or first look."""
        if self.method not in _BOUNDARIES:
            raise ValueError(f"method is one of {', '.join(_BOUNDARIES)}; not {self.method!r}")
        if not 1 <= self.looks <= 1000:
            raise ValueError(f"looks are from 1 to 1000; not {self.looks}")
        if not 1 <= self.first_look <= self.looks:
            raise ValueError(f"first_look is from 1 to looks, {self.looks}; not {self.first_look}")

    def power(self, drift: npt.ArrayLike, alpha: float) -> FloatArray:
        """Return the power for an effect whose mean z is `drift` at the planned sample."""
        fractions, critical = _boundary(self, alpha)
        return crossing_probability(fractions, critical, drift)[..., -1]

    def drift(self, power: float, alpha: float) -> float:
        """Return the mean z at the planned sample that gives this power."""
        return _drift(self, power, alpha)


@lru_cache(maxsize=256)
def _boundary(stopping: Stopping, alpha: float) -> tuple[FloatArray, FloatArray]:
    fractions = np.arange(stopping.first_look, stopping.looks + 1) / stopping.looks
    return _BOUNDARIES[stopping.method](fractions, alpha)


@lru_cache(maxsize=256)
def _drift(stopping: Stopping, power: float, alpha: float) -> float:
    fractions, critical = _boundary(stopping, alpha)
    return drift_for_power(fractions, critical, power)
