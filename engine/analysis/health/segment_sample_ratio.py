"""Sample ratio mismatch by segment, adjusted over all segments."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.evidence.segments import SegmentVisitors
from engine.analysis.health.check_result import SAMPLE_RATIO_ALARM, CheckInput, CheckResult
from engine.analysis.results.formatting import share
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.frequentist.chi_square import goodness_of_fit
from engine.stats.frequentist.multiple_testing import holm
from engine.stats.sequential.sample_ratio import check_split

# Segments are smaller than the whole, and what breaks one of them breaks it badly: one medium concentration
# finds that with few visitors.
CONCENTRATION = 1_000.0
MOST_NAMED, MOST_LISTED = 3, 20
_FAULT = (
    "Check what loses or adds visitors of a variant there, such as a page that fails in one browser. If the"
    " variant itself changes which visitors are in the segment, only effects by that segment are misleading."
)
_MAYBE_ITS_OWN = (
    "If the variant itself changes which visitors are in the segment, as a redirect that drops campaign tags"
    " does, only effects by that segment are misleading. Otherwise visitors of a variant are lost there."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSplits:
    """Log p values, one a segment, that visitors split by weight.

    `log_p` is of the chi-square test, NaN where an arm is expected to have fewer than five visitors;
    `log_p_always_valid` holds at every look. The adjusted ones are by Holm (1979) over all segments,
    under any dependence. `alarm` where the adjusted always-valid p is below 0.001: with a sound split
    that happens in one experiment of a thousand, to any segment, however often one looks (a little more
    often while new segments still turn up, as it is adjusted for those so far).
    """

    log_p: FloatArray
    log_p_always_valid: FloatArray
    log_p_adjusted: FloatArray
    log_p_always_valid_adjusted: FloatArray
    alarm: BoolArray


def check_splits(plan: AnalysisPlan, counted: SegmentVisitors) -> SegmentSplits:
    """Compare the visitors of every segment with the weights; arms without weight are left out."""
    arms = np.flatnonzero(plan.weights > 0)
    visitors, weights = counted.visitors[:, arms], plan.weights[arms]
    log_p = goodness_of_fit(visitors, weights / weights.sum()).log_p
    always_valid = check_split(visitors, weights, concentrations=(CONCENTRATION,)).log_p
    adjusted = holm(always_valid)
    return SegmentSplits(
        log_p=log_p,
        log_p_always_valid=always_valid,
        log_p_adjusted=holm(log_p),
        log_p_always_valid_adjusted=adjusted,
        alarm=adjusted < np.log(SAMPLE_RATIO_ALARM),
    )


def sample_ratio_by_segment(check_input: CheckInput) -> CheckResult:
    """Alarm where the visitors of a segment do not split by weight, whatever they do in all.

    By a p value that holds at every look, adjusted over all segments (`check_splits`): below 0.001 in at
    most one sound test of a thousand. A segment that the variant itself could have made is a warning only:
    there the variant may change which visitors are in it.
    """
    counted, plan = check_input.evidence.segments, check_input.plan
    if plan.have_weights_changed:
        message = "Weights changed, and segments are not counted by weights, so they are not tested."
        return CheckResult("not_applicable", message, {})
    if counted is None or not counted.segments or not plan.is_split_by_weight:
        return CheckResult("not_applicable", "There are no segments to test.", {})
    splits = check_splits(plan, counted)
    rows = np.flatnonzero(splits.alarm)
    worst = rows[np.argsort(splits.log_p_always_valid[rows], kind="stable")].tolist()
    details = {
        "segments": len(counted.segments),
        "broken": len(worst),
        "worst": [_details(check_input, counted, splits, row) for row in worst[:MOST_LISTED]],
    }
    if not worst:
        return CheckResult("ok", "Visitors are split as planned in every segment.", details)
    return _mismatch(check_input, counted, worst, details)


def _details(
    check_input: CheckInput, counted: SegmentVisitors, splits: SegmentSplits, row: int
) -> dict[str, object]:
    names = [variant.name for variant in check_input.experiment.variants]
    return {
        "dimension": counted.segments[row].dimension,
        "value": counted.segments[row].value,
        "visitors": dict(zip(names, counted.visitors[row].tolist(), strict=True)),
        "adjusted_always_valid_p_value": float(np.exp(splits.log_p_always_valid_adjusted[row])),
    }


def _mismatch(
    check_input: CheckInput, counted: SegmentVisitors, worst: list[int], details: dict[str, Any]
) -> CheckResult:
    """Report the segments in rows `worst`, the worst first."""
    faults = [row for row in worst if counted.segments[row].dimension in counted.fixed]
    named = [_describe(check_input, counted, row) for row in (faults or worst)[:MOST_NAMED]]
    more = f"; and {len(worst) - len(named)} more" if len(worst) > len(named) else ""
    message = f"Sample ratio mismatch in some segments: {'; '.join(named)}{more}. "
    if faults:
        return CheckResult("alarm", message + _FAULT, details)
    return CheckResult("warning", message + _MAYBE_ITS_OWN, details)


def _describe(check_input: CheckInput, counted: SegmentVisitors, row: int) -> str:
    """Describe the arm of a segment that is furthest from its share."""
    shares, visitors = check_input.plan.shares, counted.visitors[row]
    everyone = visitors.sum()
    arm = int(np.abs(visitors - shares * everyone).argmax())
    name = check_input.experiment.variants[arm].name
    return (
        f"in {counted.segments[row]}, '{name}' has {share(visitors[arm] / everyone)} of the visitors"
        f" instead of {share(shares[arm])}"
    )
