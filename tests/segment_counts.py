"""Segments for tests: counts in, everything a test does not care about left at nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.analysis.evidence.segments import Counts, Segment, SegmentEvidence
from engine.stats.moments import Moments

# By dimension and value: the visitors of each variant, and those who converted on each goal (or on the one).
Tree = Mapping[str, Mapping[str, tuple[Sequence[int], Sequence[Any]]]]


def counts_of(visitors: Any, conversions: Any, cents: Moments | None = None) -> Counts:
    """Build counts of (…, V) visitors and (…, G, V) conversions; without `cents` nobody paid anything."""
    n, hits = np.asarray(visitors, np.int64), np.asarray(conversions, np.int64)
    shape = hits.shape
    none = np.zeros(shape)
    everybody = np.broadcast_to(n[..., None, :], shape).astype(np.float64)
    revenue = cents or Moments(everybody, none, none)
    return Counts(visitors=n, conversions=hits, revenue=revenue, values=revenue)


def segmented(tree: Tree, *, unknown: tuple[Sequence[int], Sequence[Any]] | None = None) -> SegmentEvidence:
    """Build evidence of which everyone is in the first dimension, but for the `unknown`."""
    segments = [Segment(dimension, value) for dimension, values in tree.items() for value in values]
    parts = [part for values in tree.values() for part in values.values()]
    visitors = np.array([part[0] for part in parts], np.int64)
    conversions = np.array([np.atleast_2d(part[1]) for part in parts], np.int64)
    first = [i for i, one in enumerate(segments) if one.dimension == segments[0].dimension]
    everyone = visitors[first].sum(axis=0), conversions[first].sum(axis=0)
    if unknown is not None:
        everyone = everyone[0] + np.array(unknown[0]), everyone[1] + np.atleast_2d(unknown[1])
    return SegmentEvidence(
        segments=tuple(segments), counts=counts_of(visitors, conversions), everyone=counts_of(*everyone)
    )


def of_visitors(
    dimensions: Mapping[str, Any], variant: Any, cents: Any, *, variants: int = 2
) -> SegmentEvidence:
    """Count visitors one by one, on one revenue goal; a segment of "" is unknown."""
    arms, amounts = np.asarray(variant), np.asarray(cents, np.float64)

    def part(rows: Any) -> tuple[Any, Any, Moments]:
        moments = Moments.of_groups(amounts[rows], arms[rows], variants)
        hits = np.bincount(arms[rows][amounts[rows] != 0], minlength=variants)
        return np.bincount(arms[rows], minlength=variants), hits, moments

    segments, parts = [], []
    for name, values in dimensions.items():
        for value in sorted(set(values.tolist()) - {""}):
            segments.append(Segment(name, value))
            parts.append(part(values == value))
    everyone = part(np.ones(len(arms), bool))

    def together(found: Any) -> Counts:
        visitors, hits, moments = zip(*found, strict=True)
        return counts_of(np.stack(visitors), np.stack(hits)[:, None], Moments.stack(moments)[:, None])

    return SegmentEvidence(segments=tuple(segments), counts=together(parts), everyone=together([everyone])[0])
