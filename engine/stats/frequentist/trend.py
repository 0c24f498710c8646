"""Trend of the effect over days since exposure: novelty and learning effects."""

from dataclasses import dataclass

import numpy as np

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables, log_odds_ratios
from engine.stats.estimates import Estimate
from engine.stats.log_p_values import log_p_normal


@dataclass(frozen=True, slots=True)
class Novelty:
    """The effect by days since exposure, as log odds ratios; NaN where `defined` is False.

    `by_day` has days along its first axis. `common` is the effect without a trend, `first` and `last` are
    the fitted effects of the first and the last day, and `log_p` tests for any trend.
    """

    by_day: Estimate
    common: FloatArray
    first: FloatArray
    last: FloatArray
    log_p: FloatArray
    defined: BoolArray

    def fades(self, alpha: float) -> BoolArray:
        """True where a significant trend runs against the effect: towards 0, or beyond."""
        return self._trend(alpha) * self.common < 0

    def grows(self, alpha: float) -> BoolArray:
        """True where a significant trend runs with the effect."""
        return self._trend(alpha) * self.common > 0

    def _trend(self, alpha: float) -> FloatArray:
        """Last day less first where significant, 0 elsewhere."""
        established = self.defined & (np.where(self.defined, self.log_p, 0.0) < np.log(alpha))
        return np.where(established, self.last - self.first, 0.0)


def effect_by_day(tables: Tables) -> Novelty:
    """Test for a trend in the effect over days since exposure, along the first axis of `tables`.

    In the table of day d, `n` are the visitors observed for at least d days who had not converted before,
    and `hits` those of them who convert on that day: each conversion counts once, and days are nearly
    independent. The trend of log odds ratios over log(1 + d) is tested by the score
    sum (x_d - mean x) (a_d - expected a_d), expected under the common odds ratio of Mantel and Haenszel:
    Breslow and Day (1980), "Statistical Methods in Cancer Research I", equation 4.31. Sparse days do
    no harm. First and last come from one step of Newton's method from there.
    """
    ratio = _mantel_haenszel(tables)
    defined = np.isfinite(ratio) & (ratio > 0)
    expected, variance = _under(tables, np.where(defined, ratio, 1.0))
    total = variance.sum(axis=0)
    days = np.log1p(np.arange(tables.n.shape[0], dtype=np.float64)).reshape(-1, *[1] * (tables.n.ndim - 1))
    centre = np.divide((days * variance).sum(axis=0), total, out=np.zeros(total.shape), where=total > 0)
    apart = days - centre
    score, information = (apart * (tables.hits - expected)).sum(axis=0), (apart**2 * variance).sum(axis=0)
    defined &= information > 0
    information = np.where(defined, information, np.nan)
    slope, common = score / information, np.log(np.where(defined, ratio, np.nan))
    return Novelty(
        by_day=log_odds_ratios(tables),
        common=common,
        first=common + slope * (days[0] - centre),
        last=common + slope * (days[-1] - centre),
        log_p=log_p_normal(score / np.sqrt(information)),
        defined=defined,
    )


def _mantel_haenszel(tables: Tables) -> FloatArray:
    """Common odds ratio: sum of hits · control misses / n over sum of misses · control hits / n."""
    everyone = np.maximum(tables.n + tables.control_n, 1.0)
    above = (tables.hits * (tables.control_n - tables.control_hits) / everyone).sum(axis=0)
    below = ((tables.n - tables.hits) * tables.control_hits / everyone).sum(axis=0)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))


def _under(tables: Tables, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected hits of the variant on each day given its margins, and their variance, at an odds ratio."""
    hits = tables.hits + tables.control_hits
    linear = ratio * (tables.n + hits) + tables.control_n - hits
    product = ratio * tables.n * hits
    # The smaller root of the quadratic, in the form that does not subtract near-equal numbers.
    root = np.sqrt(np.maximum(linear**2 - 4.0 * (ratio - 1.0) * product, 0.0))
    expected = np.divide(2.0 * product, linear + root, out=np.zeros(product.shape), where=linear + root > 0)
    cells = (expected, hits - expected, tables.n - expected, tables.control_n - hits + expected)
    possible = np.minimum.reduce(cells) > 0
    spread = sum(np.divide(1.0, cell, out=np.zeros(cell.shape), where=possible) for cell in cells)
    return expected, np.divide(1.0, spread, out=np.zeros(expected.shape), where=possible)
