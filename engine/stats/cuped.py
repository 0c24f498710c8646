"""CUPED: variance reduction with a pre-experiment covariate."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables
from engine.stats.delta_method import RatioMoments
from engine.stats.frequentist.two_sample import log_p_shares
from engine.stats.log_p_values import log_p_normal
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A metric after adjustment: `moments` compare like any other, with less variance.

    `theta` is the slope of the metric on the covariate and `reduction` the share of the variance within arms
    that is removed, in [0, 1]; both without the axis of arms, and 0 where the covariate explains nothing.
    """

    moments: Moments
    theta: FloatArray
    reduction: FloatArray


def adjust(
    paired: PairedMoments, *, axis: int = -1, without: Moments | None = None, slopes: npt.ArrayLike = 1.0
) -> Adjusted:
    """Adjust y by the covariate x over the arms along `axis`.

    Each visitor's y becomes y - theta (x - mean of x over all arms), theta = sum of the arms' co-moments /
    sum of their m2 of x: the slope within arms, the same for all, so that the difference of two adjusted
    means estimates the same effect and equals that of an analysis of covariance. Deng, Xu, Kohavi and
    Walker (2013), "Improving the sensitivity of online controlled experiments by utilizing pre-experiment
    data", WSDM. The slope costs one degree of freedom, which widens m2; `slopes`, without the axis of arms,
    are as many where x is an index of several covariates (`covariates.pooled_slopes`).

    x has to be fixed before the first exposure. `without` are the moments of y of visitors without x (new
    ones): they are merged unadjusted. The uncertainty of the mean of x itself is left out: it shifts all
    arms together, and a lift only by lift times that. The third moment is that of y - theta x, and 0 where
    the products of three values are not known, so that plain Welch tests it.
    """
    co, m2_x = paired.co.sum(axis=axis), paired.m2_x.sum(axis=axis)
    theta = np.divide(co, m2_x, out=np.zeros_like(co), where=m2_x > 0)
    slope = np.expand_dims(theta, axis)
    centre = np.expand_dims(paired.sum_over(axis).mean_x, axis)
    mean = np.where(paired.n > 0, paired.mean_y - slope * (paired.mean_x - centre), 0.0)
    m2 = np.maximum(paired.m2_y - 2.0 * slope * paired.co + slope**2 * paired.m2_x, 0.0)
    m3 = paired.m3_y - 3.0 * slope * paired.xyy + 3.0 * slope**2 * paired.xxy - slope**3 * paired.m3_x
    is_known = paired.are_thirds_known
    wider, m3 = _slope_correction(paired.n, axis, slopes), np.where(is_known & (m2 > 0), m3, 0.0)
    adjusted, raw = Moments(paired.n, mean, m2 * wider, m3), paired.y
    if without is not None:
        merged = adjusted.merge(without)
        # A third moment of one part alone would be neither the whole's nor 0.
        m3 = np.where(is_known, merged.m3, 0.0)
        adjusted, raw = Moments(merged.n, merged.mean, merged.m2, m3), raw.merge(without)
    before, after = raw.m2.sum(axis=axis), adjusted.m2.sum(axis=axis)
    left = np.divide(after, before, out=np.ones_like(before), where=before > 0)
    return Adjusted(adjusted, theta, np.clip(1.0 - left, 0.0, 1.0))


def adjust_ratios(
    moments: RatioMoments, mean: FloatArray, theta: FloatArray, *, axis: int = -1, slopes: npt.ArrayLike = 1.0
) -> PairedMoments:
    """Adjust the numerators of ratios: pairs of the denominator x with y - theta · (mean of x) · z.

    For `ratio_test`, whose residuals are then (y - R₀ x) / (mean of x) - theta z. `theta` is the slope of the
    linearized ratios and `mean` each arm's adjusted ratio, both of `adjust`; second moments are widened for
    the `slopes`, as there.
    """
    xy, zy, zx = moments.xy, moments.zy, moments.zx
    f = np.expand_dims(theta, axis) * xy.mean_x
    m2_y = np.maximum(xy.m2_y - 2.0 * f * zy.co + f**2 * zy.m2_x, 0.0)
    wider = _slope_correction(xy.n, axis, slopes)
    return PairedMoments(
        n=xy.n,
        mean_x=xy.mean_x,
        mean_y=mean * xy.mean_x,
        m2_x=xy.m2_x * wider,
        m2_y=m2_y * wider,
        co=(xy.co - f * zx.co) * wider,
        m3_y=np.nan_to_num(xy.m3_y - 3.0 * f * zy.xyy + 3.0 * f**2 * zy.xxy - f**3 * zy.m3_x),
        m3_x=xy.m3_x,
        xxy=xy.xxy - f * zx.xyy,
        xyy=xy.xyy - 2.0 * f * moments.zyx + f**2 * zx.xxy,
    )


def log_p_before(paired: PairedMoments, *, control: int = 0, axis: int = -1) -> FloatArray:
    """Test the covariate for a difference before exposure: log p of each arm's x against the control's.

    An A/A test on the covariate, two-sided; NaN for the control itself and where nothing varies. Ones and
    zeros are tested as conversions are, exactly where they are few; other values by the score
    z = difference / sqrt(s² (1/n + 1/n_c)) with the pooled variance s²: its own variance would make a small
    arm with hardly any values above 0 the most significant. A small p means that the arms differed before
    exposure, so the adjusted result is suspect.
    """
    x = paired.x.map(lambda part: np.moveaxis(part, axis, -1))
    baseline = x[..., [control]].broadcast_to(x.n.shape)
    both = x.merge(baseline)
    seen = np.minimum(x.n, baseline.n) > 0
    error = np.sqrt(both.variance * (1.0 / np.maximum(x.n, 1.0) + 1.0 / np.maximum(baseline.n, 1.0)))
    z = np.divide(x.mean - baseline.mean, error, out=np.full(error.shape, np.nan), where=seen & (error > 0))
    log_p = log_p_normal(z)
    shares = _are_shares(x) & ~np.isnan(z)
    hits = np.rint(np.where(shares, x.total, 0.0))
    tables = Tables.of(np.where(shares, np.rint(baseline.total), 0.0), baseline.n, hits, x.n)
    log_p[shares] = log_p_shares(tables[shares])
    log_p[..., control] = np.nan
    return np.moveaxis(log_p, -1, axis)


def _are_shares(x: Moments) -> BoolArray:
    """Flag rows whose arms hold ones and zeros only: such values equal their squares."""
    squares = x.m2 + x.n * x.mean**2
    alike = np.isclose(squares, x.total, rtol=1e-9, atol=1e-9) & (x.mean >= 0) & (x.mean <= 1)
    whole = np.isclose(x.total, np.rint(x.total), rtol=0.0, atol=1e-6)
    return np.asarray((alike & whole).all(axis=-1, keepdims=True))


def _slope_correction(n: FloatArray, axis: int, slopes: npt.ArrayLike) -> FloatArray:
    """Ratio of the degrees of freedom before and after estimating slopes: N - arms over N - arms - slopes."""
    left: FloatArray = (n - (n > 0)).sum(axis=axis, keepdims=True)
    lost = np.expand_dims(np.broadcast_to(np.asarray(slopes, np.float64), left.squeeze(axis).shape), axis)
    return np.divide(left, left - lost, out=np.ones_like(left), where=left > lost)
