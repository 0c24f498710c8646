"""Conversions of a control and a variant side by side: the two-by-two table that share tests look at."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from engine.analysis.moments import BoolArray, FloatArray
from engine.errors import InvalidEvidenceError


@dataclass(frozen=True, slots=True)
class Tables:
    """Two-by-two tables, elementwise over arrays of one shape: `hits` of `n` converted in each arm."""

    control_hits: FloatArray
    control_n: FloatArray
    hits: FloatArray
    n: FloatArray

    def __post_init__(self) -> None:
        for hits, n in ((self.control_hits, self.control_n), (self.hits, self.n)):
            if not np.all((hits >= 0) & (hits <= n) & np.isfinite(n)):
                raise InvalidEvidenceError("conversions must lie between 0 and the visitors of their arm")

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
        return cls(*np.broadcast_arrays(*counts))

    @property
    def both_seen(self) -> BoolArray:
        """Where both arms have visitors."""
        return (self.n > 0) & (self.control_n > 0)

    @property
    def control_share(self) -> FloatArray:
        """The control's conversion rate; NaN without visitors."""
        return _share(self.control_hits, self.control_n)

    @property
    def share(self) -> FloatArray:
        """The variant's conversion rate; NaN without visitors."""
        return _share(self.hits, self.n)

    @property
    def smallest_cell(self) -> FloatArray:
        """The smallest of the four counts: converted or not, in either arm."""
        misses = np.minimum(self.control_n - self.control_hits, self.n - self.hits)
        return np.minimum(np.minimum(self.control_hits, self.hits), misses)

    def __getitem__(self, where: BoolArray) -> Self:
        """The tables that a mask picks, as one row of them."""
        return type(self)(self.control_hits[where], self.control_n[where], self.hits[where], self.n[where])


def _share(hits: FloatArray, n: FloatArray) -> FloatArray:
    share: FloatArray = np.divide(hits, n, out=np.full(n.shape, np.nan), where=n > 0)
    return share
