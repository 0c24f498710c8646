"""Effects of segments on scales where they compare, and everybody who is not in a segment."""

import numpy as np
from scipy import special

from engine.analysis.estimates import Estimate
from engine.analysis.moments import FloatArray, Moments
from engine.analysis.tables import Tables


def log_odds_ratios(tables: Tables) -> Estimate:
    """Log odds ratio of variant over control, for shares.

    log((a + ½)(d + ½) / ((b + ½)(c + ½))) with variance 1/(a + ½) + … : the half added to each cell takes
    away the first-order bias and keeps cells of zero finite: Gart (1966), Biometrika 53.
    """
    cells = (tables.hits, tables.n - tables.hits, tables.control_hits, tables.control_n - tables.control_hits)
    hit, miss, control_hit, control_miss = (cell + 0.5 for cell in cells)
    value = np.log(hit / miss) - np.log(control_hit / control_miss)
    variance = 1.0 / hit + 1.0 / miss + 1.0 / control_hit + 1.0 / control_miss
    seen, n = tables.both_seen, tables.n + tables.control_n
    return Estimate(np.where(seen, value, np.nan), np.where(seen, variance, np.nan), n)


def relative_effects(control: Moments, variant: Moments, *, base: FloatArray) -> Estimate:
    """Difference of means in units of `base`, the mean of everybody: effects of goals that compare.

    One base for all segments, or small segments would divide by their own noise. Not defined where base
    is not above 0 or an arm has fewer than two visitors.
    """
    change = Estimate.of(variant).minus(Estimate.of(control))
    unit = np.where(base > 0, base, np.nan)
    return Estimate(change.value / unit, change.variance / unit**2, change.n)


def lift_of_log_odds(log_odds_ratio: FloatArray, control_share: FloatArray) -> FloatArray:
    """The relative lift that a log odds ratio means where the control converts at `control_share`.

    NaN where nobody or everybody converts.
    """
    base = np.where((control_share > 0) & (control_share < 1), control_share, np.nan)
    return np.asarray(special.expit(special.logit(base) + log_odds_ratio) / base - 1.0)


def tables_without(part: Tables, whole: Tables) -> Tables:
    """Everybody of `whole` who is not in `part`."""
    return Tables(
        whole.control_hits - part.control_hits,
        whole.control_n - part.control_n,
        whole.hits - part.hits,
        whole.n - part.n,
    )


def moments_without(part: Moments, whole: Moments) -> Moments:
    """Moments of everybody of `whole` who is not in `part`: `merge` (Chan et al., 1979) the other way."""
    n = whole.n - part.n
    some = n > 0
    total = whole.n * whole.mean - part.n * part.mean
    mean = np.divide(total, n, out=np.zeros_like(total), where=some)
    between = (mean - part.mean) ** 2 * part.n * n / np.maximum(whole.n, 1.0)
    m2 = np.maximum(whole.m2 - part.m2 - between, 0.0)
    return Moments(n, mean, np.where(some, m2, 0.0))
