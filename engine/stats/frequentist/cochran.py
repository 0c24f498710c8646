"""Cochran's test of two shares over strata, such as periods of constant weights."""

import numpy as np

from engine.stats.arrays import FloatArray
from engine.stats.contingency import Tables


def stratified_score_z(tables: Tables) -> FloatArray:
    """Compute the score statistic of shares that are equal within each stratum; strata along the first axis.

    z = Σ (hits - n p) / sqrt(Σ p (1 - p) n n_c / (n + n_c)) with p of both arms of a stratum together:
    Cochran (1954), "Some methods for strengthening the common χ² tests", Biometrics 10. With one stratum it
    is the pooled z of two shares. NaN where no stratum has visitors in both arms, or nothing varies.
    """
    both = tables.n + tables.control_n
    pooled = (tables.hits + tables.control_hits) / np.maximum(both, 1.0)
    used = tables.have_visitors
    excess = np.where(used, tables.hits - tables.n * pooled, 0.0).sum(axis=0)
    each = pooled * (1.0 - pooled) * tables.n * tables.control_n / np.maximum(both, 1.0)
    variance = np.where(used, each, 0.0).sum(axis=0)
    z: FloatArray = np.divide(
        excess, np.sqrt(variance), out=np.full(np.shape(excess), np.nan), where=variance > 0
    )
    return z
