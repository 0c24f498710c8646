"""Whether visitors split as planned in every segment, and what it means where they do not.

Whether the visitors of each segment split as they should have, with all other segments in mind.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from engine.analysis.evidence.segments import SegmentVisitors
from engine.analysis.health.check import MIN_EXPECTED, SAMPLE_RATIO_ALARM, CheckInput, CheckResult
from engine.analysis.results.formatting import share
from engine.design.experiment import Experiment
from engine.design.reweighting import epochs_of
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.frequentist.multiple_testing import holm
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


# What is known of visitors before any variant can act, so that only a fault can make it differ. The others
# come from the page or its sender, and a variant that redirects or acts early may change them.
BEFORE_ANY_VARIANT = frozenset({"device_type", "os", "browser", "country", "region", "day_of_week"})
MOST_NAMED, MOST_LISTED = 3, 20
_FAULT = (
    "Look for what loses or adds visitors of a variant there, such as a page that fails in one browser; if"
    " the variant itself decides who is in such a segment, only effects by that segment mislead."
)
_MAYBE_ITS_OWN = (
    "If the variant itself decides who is in such a segment, as a redirect that drops campaign tags does,"
    " only effects by that segment mislead; otherwise visitors of a variant are lost there."
)


def sample_ratio_by_segment(subject: CheckInput) -> CheckResult:
    """Alarm where the visitors of a segment do not split by weight, whatever they do in all.

    By a p value that holds at every look, adjusted over all segments (`check_splits`): below 0.001 in at
    most one sound test of a thousand. A segment that the variant itself could have made is a warning only:
    there the split may be off because of who is in it.
    """
    counted, experiment = subject.evidence.segments, subject.experiment
    if have_weights_moved(experiment):
        message = "Weights move, and segments are not counted by what split them, so they are not tested."
        return CheckResult("not_applicable", message, {})
    if counted is None or not counted.segments or not is_split_by_weight(experiment):
        return CheckResult("not_applicable", "There are no segments here to look at.", {})
    splits = check_splits(experiment, counted)
    broken = np.flatnonzero(splits.alarm)
    worst = broken[np.argsort(splits.log_p_always_valid[broken], kind="stable")].tolist()
    names = [variant.name for variant in experiment.variants]
    details: dict[str, Any] = {
        "segments": len(counted.segments),
        "broken": len(worst),
        "worst": [
            {
                "dimension": counted.segments[row].dimension,
                "value": counted.segments[row].value,
                "visitors": dict(zip(names, counted.visitors[row].tolist(), strict=True)),
                "adjusted_always_valid_p_value": float(np.exp(splits.log_p_always_valid_adjusted[row])),
            }
            for row in worst[:MOST_LISTED]
        ],
    }
    if not worst:
        return CheckResult("ok", "Visitors are split as planned in every segment.", details)
    return _broken(subject, counted, worst, details)


def _broken(
    subject: CheckInput, counted: SegmentVisitors, worst: list[int], details: dict[str, Any]
) -> CheckResult:
    """What is found of the segments in rows `worst`, the worst first."""
    faults = [row for row in worst if counted.segments[row].dimension in BEFORE_ANY_VARIANT]
    named = [_split_of(subject, counted, row) for row in (faults or worst)[:MOST_NAMED]]
    more = f"; and {len(worst) - len(named)} more" if len(worst) > len(named) else ""
    message = f"Visitors are not split as planned in some segments: {'; '.join(named)}{more}. "
    if faults:
        return CheckResult("alarm", message + _FAULT, details)
    return CheckResult("warning", message + _MAYBE_ITS_OWN, details)


def _split_of(subject: CheckInput, counted: SegmentVisitors, row: int) -> str:
    """The arm of a segment that is furthest from its share."""
    weights = np.array([variant.weight for variant in subject.experiment.variants])
    shares, seen, everyone = weights / weights.sum(), counted.visitors[row], counted.visitors[row].sum()
    arm = int(np.abs(seen - shares * everyone).argmax())
    name = subject.experiment.variants[arm].name
    return (
        f"in {counted.segments[row]}, '{name}' has {share(seen[arm] / everyone)} of the visitors"
        f" instead of {share(shares[arm])}"
    )
