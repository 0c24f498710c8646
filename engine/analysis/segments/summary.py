"""Whether an effect differs anywhere, in a sentence for someone who runs a product and not statistics."""

from collections.abc import Iterator, Sequence

from engine.analysis.evidence.segments import Segment, SegmentEvidence
from engine.analysis.results.formatting import signed
from engine.analysis.results.segment_report import SegmentResult
from engine.design.experiment import Goal

# So many segments are named; the others are in the list below the sentence.
MOST_NAMED = 3
_MOVED = (
    "Weights moved while visitors came in, so the variants of a segment saw different days: part of what"
    " looks like an effect may be the time."
)
_ADVICE = "This was found by looking at many segments: test it again on its own before acting on it."


def sum_up(
    goal: Goal,
    evidence: SegmentEvidence,
    differing: Sequence[SegmentResult],
    *,
    is_tested: bool,
    have_weights_moved: bool = False,
) -> str:
    """Say where the effect on a goal differs from that in the rest, `differing` being those segments."""
    if not evidence.segments:
        return "No segments are known of the visitors so far."
    if not is_tested:
        return f"No segment has enough data yet to say whether the effect on {goal.name} differs in it."
    found = _found(goal, _once(differing, evidence)) if differing else _nothing_found(goal)
    caveats = [*_differently_judged(goal), *([_MOVED] if have_weights_moved else [])]
    return " ".join([found, *caveats])


def _differently_judged(goal: Goal) -> Iterator[str]:
    """How the goal is judged for all visitors, where segments can't be."""
    if goal.tracking.get("per") == "order":
        yield "By segment it is judged per visitor, not per order."
    if goal.tracking.get("cap_percentile", 100) < 100:
        yield "By segment large amounts are not capped."


def _nothing_found(goal: Goal) -> str:
    return (
        f"No segment differs more than chance explains: what holds of {goal.name} for all visitors holds"
        " for each kind of them, as far as these data can tell."
    )


def _once(differing: Sequence[SegmentResult], evidence: SegmentEvidence) -> list[SegmentResult]:
    """Leave out a segment that is all the rest of one before: that they differ is one fact, not two."""
    everyone = int(evidence.everyone.visitors.sum())
    told: list[SegmentResult] = []
    for one in differing:
        mirrored = (_visitors(one) + _visitors(other) for other in told if other.dimension == one.dimension)
        if everyone not in mirrored:
            told.append(one)
    return told


def _visitors(result: SegmentResult) -> int:
    control = 0 if result.control is None else result.control.visitors
    return control + sum(variant.visitors for variant in result.variants)


def _found(goal: Goal, differing: Sequence[SegmentResult]) -> str:
    named = " ".join(_where(one) for one in differing[:MOST_NAMED])
    more = len(differing) - MOST_NAMED
    others = f" And {more} more." if more > 0 else ""
    count = "1 segment" if len(differing) == 1 else f"{len(differing)} segments"
    return f"The effect on {goal.name} differs in {count} from that elsewhere. {named}{others} {_ADVICE}"


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
    return f"In {Segment(result.dimension, result.value)}, {' and '.join(parts)}."
