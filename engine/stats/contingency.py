"""Two-by-two tables of conversions, odds ratios, and complements of segments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


@dataclass(frozen=True, slots=True)
class Tables(ArrayRecord):
    """Two-by-two tables, elementwise over arrays of one shape: `hits` of `n` converted in each arm."""

    control_hits: FloatArray
    control_n: FloatArray
    hits: FloatArray
    n: FloatArray

    def __post_init__(self) -> None:
        for hits, n in ((self.control_hits, self.control_n), (self.hits, self.n)):
            if not ((hits >= 0) & (hits <= n) & (n < np.inf)).all():
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
    def have_visitors(self) -> BoolArray:
        """True where both arms have visitors."""
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


def _share(hits: FloatArray, n: FloatArray) -> FloatArray:
    share: FloatArray = np.divide(hits, n, out=np.full(n.shape, np.nan), where=n > 0)
    return share


def log_odds_ratios(tables: Tables) -> Estimate:
    """Estimate the log odds ratio of variant over control.

    log((a + ½)(d + ½) / ((b + ½)(c + ½))) with variance 1/(a + ½) + … : the half added to each cell removes
    the first-order bias and keeps empty cells finite: Gart (1966), Biometrika 53.
    """
    cells = (tables.hits, tables.n - tables.hits, tables.control_hits, tables.control_n - tables.control_hits)
    hit, miss, control_hit, control_miss = (cell + 0.5 for cell in cells)
    value = np.log(hit / miss) - np.log(control_hit / control_miss)
    variance = 1.0 / hit + 1.0 / miss + 1.0 / control_hit + 1.0 / control_miss
    seen, n = tables.have_visitors, tables.n + tables.control_n
    return Estimate(np.where(seen, value, np.nan), np.where(seen, variance, np.nan), n)


def relative_effects(control: Estimate, variant: Estimate, *, base: FloatArray) -> Estimate:
    """Estimate the difference of means relative to `base`, the mean of all visitors.

    One base for all segments keeps the noise of small ones out of the denominator. Not defined where base
    is not above 0 or an arm has fewer than two visitors.
    """
    change = variant.minus(control)
    unit = np.where(base > 0, base, np.nan)
    return Estimate(change.value / unit, change.variance / unit**2, change.n)


def lift_of_log_odds(log_odds_ratio: FloatArray, control_share: FloatArray) -> FloatArray:
    """Convert a log odds ratio to a relative lift over a conversion rate of `control_share`.

    NaN where that rate is 0 or 1.
    """
    base = np.where((control_share > 0) & (control_share < 1), control_share, np.nan)
    return np.asarray(scipy.special.expit(scipy.special.logit(base) + log_odds_ratio) / base - 1.0)


def tables_without(part: Tables, whole: Tables) -> Tables:
    """Subtract the tables of a segment from those of all visitors."""
    return Tables(
        whole.control_hits - part.control_hits,
        whole.control_n - part.control_n,
        whole.hits - part.hits,
        whole.n - part.n,
    )


def moments_without(part: Moments, whole: Moments) -> Moments:
    """Subtract the moments of a segment from those of all visitors: `Moments.merge` inverted."""
    n = whole.n - part.n
    some = n > 0
    total = whole.n * whole.mean - part.n * part.mean
    mean = np.divide(total, n, out=np.zeros_like(total), where=some)
    apart, all_n = mean - part.mean, np.maximum(whole.n, 1.0)
    between = apart**2 * part.n * n / all_n
    m2 = np.maximum(whole.m2 - part.m2 - between, 0.0)
    skewed = apart * between * (part.n - n) / all_n
    weighted = 3.0 * apart * (part.n * m2 - n * part.m2) / all_n
    m3 = whole.m3 - part.m3 - skewed - weighted
    return Moments(n, mean, np.where(some, m2, 0.0), np.where(some, m3, 0.0))


def pairs_without(part: PairedMoments, whole: PairedMoments) -> PairedMoments:
    """Subtract a segment's pairs from those of all visitors: `PairedMoments.merge` inverted."""
    x, y = moments_without(part.x, whole.x), moments_without(part.y, whole.y)
    share = np.divide(part.n * x.n, whole.n, out=np.zeros_like(x.n), where=whole.n > 0)
    co = np.where(x.n > 0, whole.co - part.co - (x.mean - part.mean_x) * (y.mean - part.mean_y) * share, 0.0)
    nothing = np.zeros_like(x.n)
    rest = PairedMoments(x.n, x.mean, y.mean, x.m2, y.m2, co, y.m3, nothing, nothing, nothing)
    # Both parts about the mean of all are the whole.
    of_part, of_rest = (
        one.thirds_about(one.mean_x - whole.mean_x, one.mean_y - whole.mean_y) for one in (part, rest)
    )
    of_whole = whole.m3_x, whole.xxy, whole.xyy
    m3_x, xxy, xyy = (
        np.where(x.n > 0, all_ - one - moved, 0.0)
        for all_, one, moved in zip(of_whole, of_part, of_rest, strict=True)
    )
    return replace(rest, m3_x=m3_x, xxy=xxy, xyy=xyy)


def triple_without(
    one: Sequence[FloatArray],
    triple: FloatArray,
    whole: Sequence[Moments],
    *,
    rest: Sequence[PairedMoments],
) -> FloatArray:
    """Take one visitor's values a, b, c out of the sum of products of the deviations of all three.

    `triple` is that of all visitors and `whole` their moments of a, b and c; `rest` are the pairs without
    the visitor: (c, b), (a, c) and (a, b).
    """
    of_bc, of_ac, of_ab = rest
    n, after = of_ab.n, (of_ab.x.mean, of_ab.y.mean, of_ac.y.mean)
    from_mean = [value - moments.mean for value, moments in zip(one, whole, strict=True)]
    a, b, c = (mean - moments.mean for mean, moments in zip(after, whole, strict=True))
    left = triple - from_mean[0] * from_mean[1] * from_mean[2]
    return np.asarray(left - a * of_bc.co - b * of_ac.co - c * of_ab.co - n * a * b * c)
