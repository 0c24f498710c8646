"""Whether the visitors of each segment split as they should have, with all other segments in mind."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from engine.analysis.checking import MIN_EXPECTED, SAMPLE_RATIO_ALARM
from engine.analysis.segment_evidence import IntArray, SegmentVisitors
from engine.design.experiment import Experiment
from engine.design.reweighting import epochs_of
from engine.stats.frequentist.multiple_testing import holm
from engine.stats.moments import BoolArray, FloatArray
from engine.stats.sequential.sample_ratio import check_split

# Segments are smaller than the whole, and what breaks one of them breaks it badly: a tenth of the weight
# that the whole's check puts on the promised split finds that with fewer visitors.
CONCENTRATION = 1_000.0
_SMALLEST = np.nextafter(0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSplits:
    """Log p values, one a segment, that visitors split by weight.

    `log_p` is of the chi-square test, NaN where an arm is expected to have fewer than five visitors;
    `log_p_always_valid` holds at every look. The adjusted ones are by Holm (1979) over all segments,
    whatever depends on what. `alarm` where the adjusted always-valid p is below 0.001: with a sound split
    that happens in one experiment of a thousand, to any segment, however often one looks (a little more
    often while new segments still turn up, as it is adjusted for those seen so far).
    """

    log_p: FloatArray
    log_p_always_valid: FloatArray
    log_p_adjusted: FloatArray
    log_p_always_valid_adjusted: FloatArray
    alarm: BoolArray


def is_split_by_weight(experiment: Experiment) -> bool:
    """Whether weights say how visitors split: at least two arms have some, and they never moved."""
    arms = sum(variant.weight > 0 for variant in experiment.variants)
    return arms > 1 and not have_weights_moved(experiment)


def have_weights_moved(experiment: Experiment) -> bool:
    """Whether visitors of one segment were split by several sets of weights, or may be before long."""
    return experiment.traffic_strategy == "bandit" or len(epochs_of(experiment)) > 1


def check_splits(experiment: Experiment, counted: SegmentVisitors) -> SegmentSplits:
    """Compare the visitors of every segment with the weights; arms without weight are no arms."""
    weights = np.array([variant.weight for variant in experiment.variants], np.float64)
    arms = np.flatnonzero(weights > 0)
    log_p = _chi_square(counted.visitors[:, arms], weights[arms] / weights[arms].sum())
    seen = counted.visitors[:, arms]
    always_valid = check_split(seen, weights[arms], concentration=CONCENTRATION).log_p
    adjusted = holm(always_valid)
    return SegmentSplits(
        log_p=log_p,
        log_p_always_valid=always_valid,
        log_p_adjusted=holm(log_p),
        log_p_always_valid_adjusted=adjusted,
        alarm=adjusted < np.log(SAMPLE_RATIO_ALARM),
    )


def _chi_square(seen: IntArray, shares: FloatArray) -> FloatArray:
    """Pearson's test of each row against the shares."""
    expected = seen.sum(axis=1, keepdims=True) * shares
    enough = expected.min(axis=1) >= MIN_EXPECTED
    statistic = ((seen - expected) ** 2 / np.where(enough[:, None], expected, 1.0)).sum(axis=1)
    p = np.maximum(special.chdtrc(len(shares) - 1, statistic), _SMALLEST)
    return np.where(enough, np.log(p), np.nan)
