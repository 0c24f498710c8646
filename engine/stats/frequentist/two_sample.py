"""Two-sample tests of shares and means, with intervals of the lift."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist import fisher_exact
from engine.stats.log_p_values import log_p_normal, log_p_student
from engine.stats.roots import falling_root
from engine.stats.skewness import remove_skewness, restore_skewness


@dataclass(frozen=True, slots=True)
class Comparison:
    """A variant against its control, elementwise; NaN where there is no number.

    `statistic` is z, or Welch's t freed of its skewness with `df` degrees of freedom; `log_p` the log of the
    two-sided p. The relative lift lies between `low` and `high`, which exclude 0 exactly where p < alpha.
    """

    statistic: FloatArray
    df: FloatArray
    log_p: FloatArray
    low: FloatArray
    high: FloatArray


def compare_shares(tables: Tables, alpha: npt.ArrayLike) -> Comparison:
    """Test two shares by the pooled score z; by Fisher's exact mid-p where a cell is below 10.

    z = (p_t - p_c) / sqrt(p (1 - p) (1/n_t + 1/n_c)), p of both arms together. The interval holds the
    ratios r for which the score test of p_t = r p_c gives p >= alpha: Koopman (1984), Biometrics 40, which
    is Fieller's construction with the variance that holds under each r. It is NaN where the control has no
    conversions; the upper bound is infinite where nothing bounds the ratio. `alpha` is one for all, or one
    each.
    """
    z = score_z(tables)
    low, high = lift_interval_of_shares(tables, alpha)
    return Comparison(
        statistic=z, df=np.full(z.shape, np.nan), log_p=log_p_shares(tables), low=low, high=high
    )


def lift_interval_of_shares(tables: Tables, alpha: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Compute the interval of `compare_shares`, without its test."""
    shape = tables.n.shape
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    small, each = _is_small(tables), np.broadcast_to(np.asarray(alpha, np.float64), shape)
    large = tables.have_visitors & ~small
    if small.any():
        low[small], high[small] = fisher_exact.lift_interval(tables[small], each[small])
    if large.any():
        low[large], high[large] = _ratio_interval(tables[large], each[large])
    has_base = tables.control_hits > 0
    return np.where(has_base, low, np.nan), np.where(has_base, high, np.nan)


def log_p_shares(tables: Tables) -> FloatArray:
    """Compute the log p of `compare_shares`, without its intervals; NaN without visitors."""
    log_p, small = log_p_normal(score_z(tables)), _is_small(tables)
    if small.any():
        log_p[small] = fisher_exact.log_p_mid(tables[small])
    return log_p


def score_z(tables: Tables) -> FloatArray:
    """Compute the pooled score statistic; 0 where the pooled share is 0 or 1, NaN without visitors."""
    n = np.maximum(tables.n, 1.0)
    control_n = np.maximum(tables.control_n, 1.0)
    pooled = (tables.hits + tables.control_hits) / (n + control_n)
    spread = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / control_n))
    gap = tables.share - tables.control_share
    z: FloatArray = np.divide(gap, spread, out=np.where(tables.have_visitors, 0.0, np.nan), where=spread > 0)
    return z


def compare_means(
    control: Estimate, treatment: Estimate, alpha: npt.ArrayLike, skewness: npt.ArrayLike = 0.0
) -> Comparison:
    """Test two means by Welch's t-test, freed of skewness, with Fieller's interval of their ratio.

    t = (m_t - m_c) / sqrt(v_t + v_c) with the variances of the means, Welch-Satterthwaite degrees of
    freedom: Welch (1947), Biometrika 34. Skewed values leave t skewed where the arms are not of one size:
    `skewness` is that of the difference (`PooledCumulants.skewness`), and Hall's transformation (1992, JRSS
    B 54) removes it; 0 leaves the plain test of Welch. No test where an estimate is not defined (fewer than
    two visitors) or no value differs from another in its arm. The interval has the critical values of the
    test at `alpha`, one for all or one each.
    """
    t, df = treatment.minus(control).z, welch_df(control, treatment)
    testable = ~np.isnan(df)
    log_p, critical = (np.full(t.shape, np.nan) for _ in range(2))
    skewed = np.broadcast_to(np.asarray(skewness, np.float64), t.shape)
    statistic = remove_skewness(t, skewed)
    log_p[testable] = log_p_student(statistic[testable], df[testable])
    each = np.broadcast_to(np.asarray(alpha, np.float64), t.shape)
    critical[testable] = scipy.special.stdtrit(df[testable], 1.0 - each[testable] / 2.0)
    low, high = fieller(
        *(control.value, control.variance, treatment.value, treatment.variance),
        restore_skewness(critical, skewed),
        lower_critical=restore_skewness(-critical, skewed),
    )
    return Comparison(statistic=statistic, df=df, log_p=log_p, low=low, high=high)


def welch_df(control: Estimate, treatment: Estimate) -> FloatArray:
    """Compute the Welch-Satterthwaite degrees of freedom; NaN where there is no test."""
    change = treatment.minus(control)
    testable = np.isfinite(change.z)
    # The variant's part of the variance: squares of parts, unlike those of variances, don't underflow.
    part = treatment.variance[testable] / change.variance[testable]
    df = np.full(testable.shape, np.nan)
    df[testable] = 1.0 / (
        part**2 / (treatment.n[testable] - 1.0) + (1.0 - part) ** 2 / (control.n[testable] - 1.0)
    )
    return df


def fieller(  # noqa: PLR0913  # two estimates in their parts
    control: FloatArray,
    v_c: FloatArray,
    treatment: FloatArray,
    v_t: FloatArray,
    critical: FloatArray,
    *,
    lower_critical: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Bound treatment / control - 1 by Fieller's interval, for independent estimates.

    The ratios r for which (m_t - r m_c) / sqrt(v_t + r² v_c) lies between `lower_critical` (-`critical` by
    default) and `critical`: Fieller (1954), JRSS B 16. NaN where those are no interval: where the control
    is not above 0 by that many standard errors. Where only `lower_critical` is too far for that, nothing
    bounds the ratio, and the upper bound is infinite.
    """
    least = -critical if lower_critical is None else lower_critical
    low, high = (_fieller_bound(control, v_c, treatment, v_t, limit) for limit in (critical, least))
    if lower_critical is not None:
        open_ended = np.isnan(high) & (control > 0) & (control**2 > critical**2 * v_c) & ~np.isnan(least)
        high = np.where(open_ended, np.inf, high)
    bounded = ~np.isnan(low) & ~np.isnan(high)
    return np.where(bounded, low, np.nan), np.where(bounded, high, np.nan)


def _fieller_bound(
    control: FloatArray, v_c: FloatArray, treatment: FloatArray, v_t: FloatArray, critical: FloatArray
) -> FloatArray:
    """Find the lift at which the ratio's t is `critical`: a lower bound above 0, an upper one below it.

    Where `critical` is beyond the control's own t, nothing bounds the ratio from above, and the lower bound
    is that on the stretch on which the ratio's t falls.
    """
    scale = control**2 - critical**2 * v_c
    plain = (control > 0) & (scale > 0)
    unit = np.where(plain, scale, np.nan)
    bound = control * treatment / unit - critical * np.sqrt(v_t * unit + v_c * treatment**2) / unit
    square = v_t * scale + v_c * treatment**2
    falling = (control > 0) & (scale <= 0) & (treatment > 0) & (critical > 0) & (square >= 0)
    if falling.any():
        below = control * treatment + critical * np.sqrt(np.where(falling, square, np.nan))
        # Of numbers next to 0 the products are 0.
        falling &= below > 0
        below = np.where(falling, below, np.nan)
        bound = np.where(falling, (treatment**2 - critical**2 * v_t) / below, bound)
    return np.asarray(bound - 1.0)


def _is_small(tables: Tables) -> BoolArray:
    """True where a cell is too small for a normal approximation."""
    small: BoolArray = tables.have_visitors & (tables.smallest_cell < fisher_exact.SMALL_CELL)
    return small


def _ratio_interval(tables: Tables, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Koopman's score interval of the ratio of two shares, less 1; every cell is at least 10."""
    share, control = tables.share, tables.control_share
    centre = np.log(share / control)
    spread = np.sqrt((1.0 - share) / tables.hits + (1.0 - control) / tables.control_hits)
    critical = -scipy.special.ndtri(alpha / 2.0)
    reach = 1.1 * critical * spread
    statistic = _ratio_statistic(tables)
    # The first row is that of the lower bounds, the second that of the upper ones.
    limits = np.stack([critical, -critical])
    bounds = falling_root(
        lambda log_ratio: statistic(log_ratio) - limits,
        np.stack([centre - reach, centre]),
        np.stack([centre, centre + reach]),
    )
    lifts = np.expm1(bounds)
    return lifts[0], lifts[1]


def _ratio_statistic(tables: Tables) -> Callable[[FloatArray], FloatArray]:
    """Return the score statistic of a variant's share that is exp(log_ratio) times the control's."""
    share, control_share = tables.share, tables.control_share
    both, converted = tables.control_n + tables.n, tables.hits + tables.control_hits
    per_ratio, constant = tables.n + tables.control_hits, tables.hits + tables.control_n

    def statistic(log_ratio: FloatArray) -> FloatArray:
        ratio = np.exp(log_ratio)
        linear = per_ratio * ratio + constant
        # The smaller root, in the form that does not subtract near-equal numbers.
        root = np.sqrt(linear * linear - (4.0 * converted) * both * ratio)
        control = 2.0 * converted / (linear + root)
        likeliest = ratio * control
        variance = (
            likeliest * (1.0 - likeliest) / tables.n
            + ratio * ratio * control * (1.0 - control) / tables.control_n
        )
        z: FloatArray = (share - ratio * control_share) / np.sqrt(variance)
        return z

    return statistic
