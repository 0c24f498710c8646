"""Whether visitors split as planned in every segment, and what it means where they do not."""

from typing import Any

import numpy as np

from engine.analysis.checking import Finding, Subject
from engine.analysis.figures import share
from engine.analysis.segment_evidence import SegmentVisitors
from engine.analysis.segment_split import check_splits, have_weights_moved, is_split_by_weight

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


def sample_ratio_by_segment(subject: Subject) -> Finding:
    """Alarm where the visitors of a segment do not split by weight, whatever they do in all.

    By a p value that holds at every look, adjusted over all segments (`check_splits`): below 0.001 in at
    most one sound test of a thousand. A segment that the variant itself could have made is a warning only:
    there the split may be off because of who is in it.
    """
    counted, experiment = subject.evidence.segments, subject.experiment
    if have_weights_moved(experiment):
        message = "Weights move, and segments are not counted by what split them, so they are not tested."
        return Finding("not_applicable", message, {})
    if counted is None or not counted.segments or not is_split_by_weight(experiment):
        return Finding("not_applicable", "There are no segments here to look at.", {})
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
        return Finding("ok", "Visitors are split as planned in every segment.", details)
    return _broken(subject, counted, worst, details)


def _broken(subject: Subject, counted: SegmentVisitors, worst: list[int], details: dict[str, Any]) -> Finding:
    """What is found of the segments in rows `worst`, the worst first."""
    faults = [row for row in worst if counted.segments[row].dimension in BEFORE_ANY_VARIANT]
    named = [_split_of(subject, counted, row) for row in (faults or worst)[:MOST_NAMED]]
    more = f"; and {len(worst) - len(named)} more" if len(worst) > len(named) else ""
    message = f"Visitors are not split as planned in some segments: {'; '.join(named)}{more}. "
    if faults:
        return Finding("alarm", message + _FAULT, details)
    return Finding("warning", message + _MAYBE_ITS_OWN, details)


def _split_of(subject: Subject, counted: SegmentVisitors, row: int) -> str:
    """The arm of a segment that is furthest from its share."""
    weights = np.array([variant.weight for variant in subject.experiment.variants])
    shares, seen, everyone = weights / weights.sum(), counted.visitors[row], counted.visitors[row].sum()
    arm = int(np.abs(seen - shares * everyone).argmax())
    name = subject.experiment.variants[arm].name
    return (
        f"in {counted.segments[row]}, '{name}' has {share(seen[arm] / everyone)} of the visitors"
        f" instead of {share(shares[arm])}"
    )
