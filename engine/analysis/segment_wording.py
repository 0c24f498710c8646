"""Whether an effect differs anywhere, in a sentence for someone who runs a product and not statistics."""

from collections.abc import Iterable
from itertools import islice

from engine.analysis.figures import signed
from engine.analysis.segment_evidence import Segment, SegmentEvidence
from engine.analysis.segment_result import SegmentResult
from engine.design.experiment import Goal

# So many segments are named; the others are in the list below the sentence.
MOST_NAMED = 3
_ADVICE = "This was found by looking at many segments: test it again on its own before acting on it."


def sum_up(
    goal: Goal, evidence: SegmentEvidence, differing: Iterable[SegmentResult], *, is_tested: bool
) -> str:
    """Say where the effect on a goal differs from that in the rest, `differing` being those segments."""
    if not evidence.segments:
        return "No segments are known of the visitors so far."
    if not is_tested:
        return f"No segment has enough data yet to say whether the effect on {goal.name} differs in it."
    found = list(differing)
    if not found:
        return (
            f"No segment differs more than chance explains: what holds of {goal.name} for all visitors holds"
            " for each kind of them, as far as these data can tell."
        )
    named = [sentence for one in islice(found, MOST_NAMED) if (sentence := _where(one))]
    more = len(found) - min(len(found), MOST_NAMED)
    others = f" And {more} more." if more else ""
    count = "1 segment" if len(found) == 1 else f"{len(found)} segments"
    return f"The effect on {goal.name} differs in {count}. {' '.join(named)}{others} {_ADVICE}"


def _where(result: SegmentResult) -> str:
    """The variants whose effect differs there, and by how much."""
    parts = []
    for variant in result.variants:
        if not variant.differs_from_rest:
            continue
        if variant.improvement is None or variant.rest_improvement is None:
            parts.append(f"'{variant.variant_name}' does otherwise than elsewhere")
        else:
            here, elsewhere = signed(variant.improvement), signed(variant.rest_improvement)
            parts.append(f"'{variant.variant_name}' changes it by {here}, elsewhere by {elsewhere}")
    return f"In {Segment(result.dimension, result.value)}, {' and '.join(parts)}." if parts else ""
