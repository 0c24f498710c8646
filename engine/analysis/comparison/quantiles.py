"""Quantiles of each variant and the control: their comparison, and what they need of visitors."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.enough_data import MIN_VISITORS
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.frequentist.quantiles import (
    QuantileComparison,
    compare_quantiles,
    has_enough_beyond,
    quantile_interval,
    relative_quantile_z,
)

Quantiles = Mapping[int, QuantileEvidence]
"""The goals that are quantiles, by their row."""


def compare_arms(quantile: QuantileEvidence, control: int, alpha: npt.ArrayLike) -> QuantileComparison:
    """Compare every variant's quantile with the control's, (V,); `alpha` is one for all or one each."""
    levels = np.broadcast_to(np.asarray(alpha, np.float64), (len(quantile.arms),))
    return QuantileComparison.stack(
        [
            compare_quantiles(quantile.arms[control], arm, quantile.share, level)
            for arm, level in zip(quantile.arms, levels, strict=True)
        ]
    )


def relative_z_of_arms(
    quantile: QuantileEvidence, control: int, ratio: float, added: float = 0.0
) -> FloatArray:
    """Compute the z of every variant's quantile being `ratio` times the control's and `added`, (V,).

    NaN of the control itself, where a ratio is taken of a control below 0, and without a ratio.
    """
    of_control, share = quantile.arms[control], quantile.share
    if np.isnan(ratio + added) or not of_control.n or (ratio != 1 and of_control.quantiles(share) < 0):
        return np.full(len(quantile.arms), np.nan)
    return np.array(
        [
            np.nan if place == control else relative_quantile_z(of_control, arm.plus(-added), share, ratio)
            for place, arm in enumerate(quantile.arms)
        ]
    )


def intervals_of_arms(quantile: QuantileEvidence, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Compute the interval of every variant's own quantile, (V,)."""
    bounds = [quantile_interval(arm, quantile.share, alpha) for arm in quantile.arms]
    return np.array([low for low, _ in bounds]), np.array([high for _, high in bounds])


def enough_beyond(quantile: QuantileEvidence, control: int) -> BoolArray:
    """Flag variants that, as the control, have enough visitors, and enough beyond the quantile, (V,)."""
    n = np.array([arm.independent for arm in quantile.arms])
    visitors = np.array(quantile.visitors)
    fewest, fewest_visitors = np.minimum(n, n[control]), np.minimum(visitors, visitors[control])
    return np.asarray(has_enough_beyond(fewest, quantile.share) & (fewest_visitors >= MIN_VISITORS))


def expected_beyond(quantile: QuantileEvidence, control: int) -> FloatArray:
    """Compute the visitors, or independent values, that the smaller arm has beyond the quantile, (V,)."""
    n = np.array([arm.independent for arm in quantile.arms])
    return np.asarray(np.minimum(n, n[control]) * min(quantile.share, 1.0 - quantile.share))
