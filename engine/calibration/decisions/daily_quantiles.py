"""Statistics of simulated quantiles at every daily look, by the functions that results use."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS
from engine.analysis.comparison.quantiles import enough_beyond, expected_beyond, relative_z_of_arms
from engine.analysis.decision.look_statistics import LookStatistics
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.calibration.method import FAMILY
from engine.stats.arrays import FloatArray
from engine.stats.frequentist.quantiles import compare_quantiles


def compare_quantile_days(
    days: Sequence[Sequence[Sequence[QuantileEvidence]]], *, margins: FloatArray, relevant: npt.ArrayLike
) -> LookStatistics:
    """Compare every variant's quantile with the control's: runs by days by goals, as values of the variants.

    `margins` are those of guardrails, one a goal, NaN for others, and `relevant` that of equivalence.
    """
    margin = float(np.asarray(relevant).item())
    return LookStatistics.stack(
        [
            LookStatistics.stack(
                [
                    LookStatistics.stack(
                        [_look(*goal, relevant=margin) for goal in zip(day, margins.tolist(), strict=True)]
                    )
                    for day in run
                ]
            )
            for run in days
        ]
    )


def _look(quantile: QuantileEvidence, margin: float, *, relevant: float) -> LookStatistics:
    control, *variants = quantile.arms
    arms = len(quantile.arms)
    z = [float(compare_quantiles(control, arm, quantile.share, FAMILY).z) for arm in variants]
    is_variant = np.arange(arms) != 0

    return LookStatistics(
        z=np.array([np.nan, *z]),
        is_monitored=is_variant & (expected_beyond(quantile, 0) >= FEWEST_CONVERSIONS),
        is_enough=is_variant & enough_beyond(quantile, 0),
        above=relative_z_of_arms(quantile, 0, 1.0 - relevant),
        below=-relative_z_of_arms(quantile, 0, 1.0 + relevant),
        margin_z=relative_z_of_arms(quantile, 0, 1.0 - margin),
        log_p_margin=np.full(arms, np.nan),
        has_outcomes=np.array([arm.n > 0 for arm in quantile.arms]),
        lacks_margin=np.zeros(arms, bool),
    )
