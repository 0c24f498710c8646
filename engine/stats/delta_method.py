"""Ratio metrics by the delta method, such as orders per session or cents per order.

A ratio is linearized to one number per visitor, so that any method for means applies to it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

# Residuals below this share of what they are left of are rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class RatioMoments:
    """Moments of numerator y, denominator x and covariate z of the same visitors, pair by pair.

    `xy` pairs x with y; `zy` and `zx` pair z, the first, with each. `zyx` is the sum of products of the
    deviations of all three, NaN where it is not known.
    """

    xy: PairedMoments
    zy: PairedMoments
    zx: PairedMoments
    zyx: FloatArray


def linearize(xy: PairedMoments, ratio: FloatArray | None = None) -> Moments:
    """Linearize the ratio R = sum y / sum x: moments per visitor with mean R.

    A visitor counts as R + (y - R₀ x) / mean x, where R₀ is the cell's own R, or a `ratio` of several.
    Its variance over n is the delta method's: (s_y² - 2 R₀ s_xy + R₀² s_x²) / (n mean_x²); Deng, Knoblich and
    Lu (2018), "Applying the delta method in metric analytics", KDD. The unit is the visitor, however many
    sessions each has. A cell whose mean x is not above 0 has no ratio and comes back empty, with n = 0. The
    third moment is 0 where the products of three values are not known.
    """
    defined = (xy.n > 0) & (xy.mean_x > 0)
    own = np.where(defined, xy.mean_y / np.where(defined, xy.mean_x, 1.0), 0.0)
    slope = own if ratio is None else ratio
    return residual_moments(xy, slope, where=defined, is_third_known=xy.are_thirds_known)


def linearize_together(xy: PairedMoments) -> Moments:
    """Linearize ratios with R₀ of all arms along the last axis, as where nothing differs (`ratio_test`)."""
    x, y = ((xy.n * mean).sum(axis=-1, keepdims=True) for mean in (xy.mean_x, xy.mean_y))
    return linearize(xy, np.divide(y, x, out=np.zeros_like(x), where=x > 0))


def residual_moments(
    xy: PairedMoments,
    ratio: FloatArray,
    *,
    where: BoolArray,
    is_third_known: BoolArray,
    times: npt.ArrayLike = 1.0,
) -> Moments:
    """Take the moments of (`times` y - ratio x) / mean x about the mean `times` R, in the cells `where`.

    Cells elsewhere are empty, and the third moment is 0 where it is not known. Residuals that are rounding
    only are 0, as where y is a multiple of x.
    """
    unit, factor = np.where(where, xy.mean_x, 1.0), np.asarray(times, np.float64)
    of_y, of_x = factor**2 * xy.m2_y, ratio**2 * xy.m2_x
    m2 = of_y - 2.0 * factor * ratio * xy.co + of_x
    m2 = np.where(where & (m2 > _ROUNDING * (of_y + of_x)), m2, 0.0) / unit**2
    thirds = (
        factor**3 * xy.m3_y,
        -3.0 * factor**2 * ratio * xy.xyy,
        3.0 * factor * ratio**2 * xy.xxy,
        -(ratio**3) * xy.m3_x,
    )
    m3 = sum(thirds, np.zeros(m2.shape))
    known = where & (m2 > 0) & is_third_known & (np.abs(m3) > _ROUNDING * sum(map(np.abs, thirds)))
    mean = np.where(where, factor * xy.mean_y / unit, 0.0)
    return Moments(np.where(where, xy.n, 0.0), mean, m2, np.where(known, m3 / unit**3, 0.0))


def with_ratios(values: Moments, ratios: PairedMoments) -> Moments:
    """Take linearized ratios of all arms along the last axis where there are any, and `values` elsewhere."""
    is_ratio = np.asarray(ratios.n.any(axis=-1, keepdims=True))
    return Moments.where(is_ratio, linearize_together(ratios), values) if is_ratio.any() else values


def linearize_with_covariate(moments: RatioMoments) -> PairedMoments:
    """Pair the covariate with each visitor's linearized ratio, for `cuped.adjust`.

    The co-moment of z with R + (y - R x) / mean x is (co_zy - R co_zx) / mean x: CUPED of a ratio in Deng,
    Knoblich and Lu (2018), section 4.3.
    """
    ratio = linearize(moments.xy)
    defined = ratio.n > 0
    unit = np.where(defined, moments.xy.mean_x, 1.0)
    co = np.asarray((moments.zy.co - ratio.mean * moments.zx.co) / unit)
    return PairedMoments(
        n=ratio.n,
        mean_x=np.where(defined, moments.zy.mean_x, 0.0),
        mean_y=ratio.mean,
        m2_x=np.where(defined, moments.zy.m2_x, 0.0),
        m2_y=ratio.m2,
        co=np.where(defined, co, 0.0),
    )
