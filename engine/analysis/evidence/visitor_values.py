"""Values per visitor: capped amounts, orders and pre-period values."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import ArrayRecord, FloatArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


def _unknown() -> FloatArray:
    return np.full((), np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitorValues(ArrayRecord):
    """Moments per visitor of each goal's metric, goals by variants.

    `value` is 1 or 0 for a conversion and cents for revenue, capped at `caps` (one a goal, in cents; NaN
    without a cap); `capped` visitors had more. For goals measured per order `orders` pairs the number of
    orders, x, with the value, y. `before` pairs the same value in the time before the first exposure, x,
    with the value, y, or an index of several covariates with so many `index_slopes` (one a goal; 0 where x is
    one covariate); `before_orders` pairs it with the number of orders. `without_before` are values of
    visitors without a known pre-period, which `before` leaves out. A cell of a pair with n = 0 says that the
    goal has no such pair.

    `triple` is the sum of products of the deviations of the pre-period value, the value and the orders. Of
    ratios, `nonzero` are the visitors with a value other than 0, and `largest_orders` is the largest number
    of orders of one visitor. All three are NaN where they are not known.
    """

    value: Moments
    caps: FloatArray
    capped: IntArray
    orders: PairedMoments
    before: PairedMoments
    before_orders: PairedMoments
    without_before: Moments
    index_slopes: FloatArray = field(default_factory=lambda: np.zeros(()))
    triple: FloatArray = field(default_factory=_unknown)
    nonzero: FloatArray = field(default_factory=_unknown)
    largest_orders: FloatArray = field(default_factory=_unknown)

    def __post_init__(self) -> None:
        shape = self.value.n.shape
        of_cells = ("triple", "nonzero", "largest_orders")
        for name in of_cells:
            if getattr(self, name).shape == ():
                object.__setattr__(self, name, np.full(shape, float(getattr(self, name))))
        if self.index_slopes.shape == ():
            object.__setattr__(self, "index_slopes", np.full(shape[:1], float(self.index_slopes)))
        if self.index_slopes.shape != shape[:1]:
            raise InvalidEvidenceError(
                f"index_slopes must have the shape {shape[:1]}, not {self.index_slopes.shape}"
            )
        for name in ("capped", "orders", "before", "before_orders", "without_before", *of_cells):
            part = getattr(self, name)
            found = part.shape if isinstance(part, np.ndarray) else part.n.shape
            if found != shape:
                raise InvalidEvidenceError(f"{name} must have the shape {shape}, not {found}")
        if self.caps.shape != shape[:1]:
            raise InvalidEvidenceError(f"caps must have the shape {shape[:1]}, not {self.caps.shape}")
        known = self.before.n > 0
        if (known & (self.before.n + self.without_before.n != self.value.n)).any():
            raise InvalidEvidenceError(
                "before and without_before must be of every visitor, each in one of them"
            )

    @classmethod
    def of(cls, value: Moments) -> Self:
        """Return values without caps, orders or a pre-period."""
        nothing = no_pairs(value.n.shape)
        return cls(
            value=value,
            caps=np.full(value.n.shape[:1], np.nan),
            capped=np.zeros(value.n.shape, np.int64),
            orders=nothing,
            before=nothing,
            before_orders=nothing,
            without_before=nothing.x,
        )

    def without_covariate(self) -> Self:
        """Return the values without the pre-period."""
        nothing = no_pairs(self.value.n.shape)
        return replace(
            self,
            before=nothing,
            before_orders=nothing,
            without_before=nothing.x,
            index_slopes=np.zeros(self.index_slopes.shape),
        )


def no_pairs(shape: tuple[int, ...]) -> PairedMoments:
    """Return moments of no pairs."""
    return PairedMoments.full(shape, 0.0)
