"""Moments of a measure of many visitors without any effect, that a test of it is planned by."""

from functools import lru_cache
from typing import Final

import numpy as np

from engine.analysis.comparison.metrics import adjusted_metrics
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.calibration.measure_errors.measure_cells import QuantileShape, ValueShape
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.moments import Moments

_VISITORS: Final = 400_000


@lru_cache
def typical_moments(shape: ValueShape) -> Moments:
    """Take the moments of the metric of many visitors; of the first share of quantiles."""
    rng = np.random.default_rng(1)
    if isinstance(shape, QuantileShape):
        values = ValueCounts.of(shape.quantiles(rng.random(_VISITORS), 1.0))
        return QuantileEvidence(shape.shares[0], (values,)).moments()[0]
    arm = shape.draw(rng, (1, _VISITORS), 1.0)[:, None]
    return adjusted_metrics(arm.values(), is_share=np.zeros(1, bool)).moments[0, 0]


def label_of(shape: ValueShape) -> str:
    """Name the measure and its values; of quantiles the first."""
    if isinstance(shape, QuantileShape):
        return f"{quantile_label(shape.shares[0])}, {shape.name}"
    return f"{shape.measure}, {shape.name}"


def quantile_label(share: float) -> str:
    """Name a quantile by its share."""
    return "median" if share == 0.5 else f"{share:.0%} quantile"
