"""Conversions of a control and a variant side by side: the two-by-two table that share tests look at."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tables:
    """Two-by-two tables, elementwise over arrays of one shape: `hits` of `n` converted in each arm."""

    control_hits: FloatArray
    control_n: FloatArray
    hits: FloatArray
    n: FloatArray

    @classmethod
    def of(
        cls,
        control_hits: npt.ArrayLike,
        control_n: npt.ArrayLike,
        hits: npt.ArrayLike,
        n: npt.ArrayLike,
    ) -> Self:
        """Take counts of any shapes that broadcast together."""
        counts = (np.asarray(value, np.float64) for value in (control_hits, control_n, hits, n))
        return cls(*(np.array(value) for value in np.broadcast_arrays(*counts)))

    @property
    def control_share(self) -> FloatArray:
        """The control's conversion rate; NaN without visitors."""
        return np.divide(
            self.control_hits,
            self.control_n,
            out=np.full(self.control_n.shape, np.nan),
            where=self.control_n > 0,
        )

    @property
    def share(self) -> FloatArray:
        """The variant's conversion rate; NaN without visitors."""
        return np.divide(self.hits, self.n, out=np.full(self.n.shape, np.nan), where=self.n > 0)

    @property
    def smallest_cell(self) -> FloatArray:
        """The smallest of the four counts: converted or not, in either arm."""
        misses = np.minimum(self.control_n - self.control_hits, self.n - self.hits)
        return np.minimum(np.minimum(self.control_hits, self.hits), misses)

    def __getitem__(self, where: npt.NDArray[np.bool_]) -> Self:
        """The tables that a mask picks, as one row of them."""
        return type(self)(self.control_hits[where], self.control_n[where], self.hits[where], self.n[where])
