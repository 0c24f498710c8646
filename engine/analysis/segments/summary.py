"""Summary of an effect's heterogeneity over segments, in plain sentences."""

from collections.abc import Iterator, Sequence

from engine.analysis.evidence.segments import Segment, SegmentEvidence
from engine.analysis.results.formatting import signed
from engine.analysis.results.segment_report import SegmentResult
from engine.design.goal import Goal

# So many segments are named; the others are in the list below the sentence.
MOST_NAMED = 3
_WEIGHTS_CHANGED = (
    "Weights changed while visitors came in, so the variants of a segment cover different days: part of an"
    " apparent effect may be due to time."
)
_ADVICE = "This is exploratory, one of many segments: confirm it in a test of its own before acting on it."


def summarize(  # noqa: PLR0913  # facts about segments, each with a sentence
    goal: Goal,
    evidence: SegmentEvidence,
    differing: Sequence[SegmentResult],
    *,
    is_tested: bool,
    mismatched: Sequence[Segment] = (),
    have_weights_changed: bool = False,
) -> str:
    """Name the segments whose effect on a goal differs from the rest: those `differing`, largest first.

    Effects by a dimension with `mismatched` segments are withheld: visitors of those are not split by weight,
    so that a difference between them and the rest may come from the visitors that are missing.
    """
    if not evidence.segments:
        return "There are no segments yet."
    if not is_tested:
        return f"No segment has enough data yet to test whether the effect on {goal.name} differs in it."
    withheld = {segment.dimension for segment in mismatched}
    sound = [result for result in differing if result.dimension not in withheld]
    if sound:
        sentences = _differences(goal, _without_mirrored(sound, evidence))
    else:
        sentences = "No other segment differs significantly." if withheld else _no_difference(goal)
    caveats = [*_metric_caveats(goal), *([_WEIGHTS_CHANGED] if have_weights_changed else [])]
    return " ".join([*_mismatches(mismatched), sentences, *caveats])


def _mismatches(mismatched: Sequence[Segment]) -> Iterator[str]:
    """Say by which dimensions effects cannot be judged, and which segments are not split by weight."""
    if not mismatched:
        return
    names = ", ".join(str(segment) for segment in mismatched[:MOST_NAMED])
    more = len(mismatched) - MOST_NAMED
    others = f" and {more} more" if more > 0 else ""
    known = sorted({segment.dimension.removeprefix("custom:").replace("_", " ") for segment in mismatched})
    yield (
        f"Visitors in {names}{others} are not split by weight: fix that first, as effects by"
        f" {' and '.join(known)} cannot be judged."
    )


def _metric_caveats(goal: Goal) -> Iterator[str]:
    """Name the settings of the goal that do not apply by segment."""
    if goal.tracking.get("per") == "order":
        yield "By segment it is measured per visitor, not per order."
    if goal.tracking.get("cap_percentile", 100) < 100:
        yield "By segment large amounts are not capped."


def _no_difference(goal: Goal) -> str:
    return (
        f"No segment differs significantly: as far as the data show, the effect on {goal.name} is the same in"
        " every segment."
    )


def _without_mirrored(differing: Sequence[SegmentResult], evidence: SegmentEvidence) -> list[SegmentResult]:
    """Leave out a segment that is all the rest of one before: that they differ is one fact, not two."""
    everyone = int(evidence.everyone.visitors.sum())
    kept: list[SegmentResult] = []
    for segment in differing:
        together = (
            _visitors(segment) + _visitors(other) for other in kept if other.dimension == segment.dimension
        )
        if everyone not in together:
            kept.append(segment)
    return kept


def _visitors(result: SegmentResult) -> int:
    control = 0 if result.control is None else result.control.visitors
    return control + sum(variant.visitors for variant in result.variants)


def _differences(goal: Goal, differing: Sequence[SegmentResult]) -> str:
    named = " ".join(_describe(segment) for segment in differing[:MOST_NAMED])
    more = len(differing) - MOST_NAMED
    others = f" And {more} more." if more > 0 else ""
    count = "1 segment" if len(differing) == 1 else f"{len(differing)} segments"
    return f"The effect on {goal.name} differs from the rest in {count}. {named}{others} {_ADVICE}"


def _describe(result: SegmentResult) -> str:
    """Describe the variants whose effect differs there, and by how much."""
    parts = []
    for variant in result.variants:
        if not variant.differs_from_rest:
            continue
        if variant.improvement is None or variant.rest_improvement is None:
            parts.append(f"'{variant.variant_name}' has a different effect than elsewhere")
        else:
            here, elsewhere = signed(variant.improvement), signed(variant.rest_improvement)
            parts.append(f"'{variant.variant_name}' changes it by {here}, elsewhere by {elsewhere}")
    return f"In {Segment(result.dimension, result.value)}, {' and '.join(parts)}."
