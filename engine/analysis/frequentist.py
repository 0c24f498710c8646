"""Whether two arms differ by more than chance, and by how much: tests of shares and of means."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.analysis import exact
from engine.analysis.moments import Moments
from engine.analysis.roots import falling_root
from engine.analysis.tables import Tables
from engine.analysis.tails import log_p_normal, log_p_student

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A variant against its control, elementwise; NaN where there is no number.

    `statistic` is z, or Welch's t with `df` degrees of freedom; `log_p` the log of the two-sided p. The
    relative lift lies between `low` and `high`, which exclude 0 exactly where p < alpha.
    """

    statistic: FloatArray
    df: FloatArray
    log_p: FloatArray
    low: FloatArray
    high: FloatArray


def compare_shares(tables: Tables, alpha: float) -> Comparison:
    """Pooled score z of two shares; Fisher's exact mid-p where a cell is below 10.

    z = (p_t - p_c) / sqrt(p (1 - p) (1/n_t + 1/n_c)), p of both arms together. The interval holds the
    ratios r for which the score test of p_t = r p_c gives p >= alpha: Koopman (1984), Biometrics 40, which
    is Fieller's construction with the variance that holds under each r.
    """
    z = score_z(tables)
    log_p, low, high = log_p_normal(z), np.full(z.shape, np.nan), np.full(z.shape, np.nan)
    seen = (tables.n > 0) & (tables.control_n > 0)
    small = seen & (tables.smallest_cell < exact.SMALL_CELL)
    large = seen & ~small
    if small.any():
        log_p[small] = exact.log_p_mid(tables[small])
        low[small], high[small] = exact.lift_interval(tables[small], alpha)
    if large.any():
        low[large], high[large] = _ratio_interval(tables[large], alpha)
    log_p[~seen] = np.nan
    undefined = ~seen | (tables.control_hits == 0)
    low[undefined] = high[undefined] = np.nan
    return Comparison(z, np.full(z.shape, np.nan), log_p, low, high)


def score_z(tables: Tables) -> FloatArray:
    """The pooled score statistic; 0 where nobody or everybody converted, NaN without visitors."""
    n = tables.n + tables.control_n
    seen = (tables.n > 0) & (tables.control_n > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (tables.hits + tables.control_hits) / n
        spread = np.sqrt(pooled * (1.0 - pooled) * (1.0 / tables.n + 1.0 / tables.control_n))
        z = (tables.share - tables.control_share) / spread
    return np.where(seen, np.where(spread > 0, z, 0.0), np.nan)


def compare_means(control: Moments, treatment: Moments, alpha: float) -> Comparison:
    """Welch's t-test of two means, with Fieller's interval of their ratio.

    t = (m_t - m_c) / sqrt(v_t/n_t + v_c/n_c), Welch-Satterthwaite degrees of freedom: Welch (1947),
    Biometrika 34. Fieller (1954), JRSS B 16: the ratios r for which |m_t - r m_c| is within the critical t
    of its standard error; NaN where they are not an interval. No test where an arm has fewer than two
    visitors or no value differs from another in its arm.
    """
    v_c, v_t = _variance_of_mean(control), _variance_of_mean(treatment)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (treatment.mean - control.mean) / np.sqrt(v_t + v_c)
        df = (v_t + v_c) ** 2 / (v_t**2 / (treatment.n - 1.0) + v_c**2 / (control.n - 1.0))
    testable = np.isfinite(t) & np.isfinite(df)
    log_p = np.full(t.shape, np.nan)
    log_p[testable] = log_p_student(t[testable], df[testable])
    critical = np.full(t.shape, np.nan)
    critical[testable] = special.stdtrit(df[testable], 1.0 - alpha / 2.0)
    low, high = fieller(control.mean, v_c, treatment.mean, v_t, critical)
    return Comparison(np.where(testable, t, np.nan), np.where(testable, df, np.nan), log_p, low, high)


def fieller(
    control: FloatArray, v_c: FloatArray, treatment: FloatArray, v_t: FloatArray, critical: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fieller's interval of treatment / control - 1 for independent means with these variances.

    NaN where the control's mean is not above 0 by `critical` standard errors: no bounded interval then.
    """
    g = critical**2
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = control**2 - g * v_c
        centre = control * treatment / scale
        reach = critical * np.sqrt(v_t * scale + v_c * treatment**2) / scale
    separable = (control > 0) & (scale > 0)
    low, high = np.where(separable, centre - reach, np.nan), np.where(separable, centre + reach, np.nan)
    return low - 1.0, high - 1.0


def _variance_of_mean(moments: Moments) -> FloatArray:
    variance = np.full(moments.n.shape, np.nan)
    enough = moments.n > 1
    variance[enough] = moments.variance[enough] / moments.n[enough]
    return variance


def _ratio_interval(tables: Tables, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Koopman's score interval of the ratio of two shares, less 1; every cell is at least 10."""
    share, control = tables.share, tables.control_share
    centre = np.log(share / control)
    spread = np.sqrt((1.0 - share) / tables.hits + (1.0 - control) / tables.control_hits)
    critical = -special.ndtri(alpha / 2.0)
    reach = 1.2 * critical * spread
    low = falling_root(lambda u: _ratio_z(tables, u) - critical, centre - reach, centre)
    high = falling_root(lambda u: _ratio_z(tables, u) + critical, centre, centre + reach)
    return np.expm1(low), np.expm1(high)


def _ratio_z(tables: Tables, log_ratio: FloatArray) -> FloatArray:
    """The score statistic of the hypothesis that the variant's share is exp(log_ratio) times the control's."""
    ratio = np.exp(log_ratio)
    square = (tables.control_n + tables.n) * ratio
    linear = (tables.n + tables.control_hits) * ratio + tables.hits + tables.control_n
    constant = tables.hits + tables.control_hits
    # The smaller root, in the form that does not subtract near-equal numbers.
    control = 2.0 * constant / (linear + np.sqrt(linear**2 - 4.0 * square * constant))
    share = ratio * control
    variance = share * (1.0 - share) / tables.n + ratio**2 * control * (1.0 - control) / tables.control_n
    return (tables.share - ratio * tables.control_share) / np.sqrt(variance)
