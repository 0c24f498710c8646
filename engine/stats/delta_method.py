"""Ratio metrics by the delta method, such as orders per session or cents per order.

A ratio is linearized to one number per visitor, so that any method for means applies to it.
"""

from dataclasses import dataclass

import numpy as np

from engine.stats.moments import Moments, PairedMoments


@dataclass(frozen=True, slots=True)
class RatioMoments:
    """Moments of numerator y, denominator x and covariate z of the same visitors, pair by pair.

    `xy` pairs x with y; `zy` and `zx` pair z, the first, with each.
    """

    xy: PairedMoments
    zy: PairedMoments
    zx: PairedMoments


def linearize(xy: PairedMoments) -> Moments:
    """Linearize the ratio R = sum y / sum x: moments per visitor with mean R.

    A visitor counts as R + (y - R x) / mean x, whose variance over n is the delta method's of R:
    (s_y² - 2 R s_xy + R² s_x²) / (n mean_x²); Deng, Knoblich and Lu (2018), "Applying the delta method in
    metric analytics", KDD. The unit is the visitor, however many sessions each has. A cell whose mean x is
    not above 0 has no ratio and comes back empty, with n = 0. The third moment would need products of three
    values and is left at 0, so that ratios are tested by plain Welch.
    """
    defined = (xy.n > 0) & (xy.mean_x > 0)
    unit = np.where(defined, xy.mean_x, 1.0)
    ratio = np.where(defined, xy.mean_y / unit, 0.0)
    m2 = (xy.m2_y - 2.0 * ratio * xy.co + ratio**2 * xy.m2_x) / unit**2
    return Moments(np.where(defined, xy.n, 0.0), ratio, np.where(defined, np.maximum(m2, 0.0), 0.0))


def with_ratios(values: Moments, ratios: PairedMoments) -> Moments:
    """Take linearized ratios along the last axis where there are any pairs, and `values` elsewhere."""
    is_ratio = np.asarray(ratios.n.any(axis=-1, keepdims=True))
    return Moments.where(is_ratio, linearize(ratios), values) if is_ratio.any() else values


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
