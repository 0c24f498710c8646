"""Evidence by segment: counts with the segments along the first axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple, Self

import numpy as np

from engine.analysis.evidence.segment_quantiles import SegmentQuantiles
from engine.analysis.evidence.totals import Totals
from engine.analysis.evidence.visitor_values import no_pairs
from engine.errors import InvalidEvidenceError
from engine.stats.arrays import ArrayRecord, IntArray
from engine.stats.contingency import moments_without, pairs_without
from engine.stats.delta_method import with_ratios
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


class Segment(NamedTuple):
    """Visitors with one value of one dimension."""

    dimension: str
    value: str

    def __str__(self) -> str:
        """Format its name for a sentence."""
        return f"{self.dimension.removeprefix('custom:').replace('_', ' ')} '{self.value}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(ArrayRecord):
    """Visitors (…, V), conversions (…, G, V) and moments of cents per visitor (…, G, V), as in Evidence.

    `values` are the moments of each goal's metric where that is a mean: for revenue, those of cents. `ratios`
    pair the denominator x of goals that are ratios with the numerator y; other goals have no pairs.
    `observed` (…, G, V) visitors have a known outcome of the goal, by default all. Conversions and moments
    are of those, and `so_far` has what all visitors did, by default the same.
    Raises InvalidEvidenceError for numbers that can't have been observed together.
    """

    visitors: IntArray
    conversions: IntArray
    revenue: Moments
    values: Moments
    ratios: PairedMoments = field(default_factory=lambda: no_pairs(()))
    observed: IntArray = field(default_factory=lambda: np.zeros((), np.int64))
    so_far: Totals = field(default_factory=Totals.nothing)

    def __post_init__(self) -> None:
        goals = self.conversions.shape[-2]
        shape = (*self.visitors.shape[:-1], goals, self.visitors.shape[-1])
        if self.ratios.n.shape == ():
            object.__setattr__(self, "ratios", no_pairs(shape))
        if self.observed.shape == ():
            object.__setattr__(self, "observed", np.broadcast_to(self.visitors[..., None, :], shape))
        if self.so_far.conversions.shape == ():
            own = Totals(conversions=self.conversions, revenue=self.revenue)
            object.__setattr__(self, "so_far", own)
        if not self.conversions.shape == self.revenue.n.shape == self.values.n.shape == shape:
            raise InvalidEvidenceError(
                f"visitors {self.visitors.shape}, conversions {self.conversions.shape}, revenue "
                f"{self.revenue.n.shape} and values {self.values.n.shape} are not of the same segments, "
                "goals and variants"
            )
        if self.ratios.n.shape != shape:
            raise InvalidEvidenceError(f"ratios must have the shape {shape}, not {self.ratios.n.shape}")
        most = self.visitors[..., None, :]
        if (
            (self.visitors < 0).any()
            or ((self.conversions < 0) | (self.conversions > self.observed)).any()
            or (self.observed > most).any()
        ):
            raise InvalidEvidenceError(
                "conversions must lie between 0 and the visitors of their variant: count each visitor once"
            )

    def with_quantiles(self, quantiles: Mapping[int, SegmentQuantiles]) -> Self:
        """Replace what is known of goals by what their quantiles are of; the last row is of all visitors."""
        if not quantiles:
            return self
        conversions, observed = self.conversions.copy(), self.observed.copy()
        values = self.values.map(np.copy)
        for goal, quantile in quantiles.items():
            of_rows = [*quantile.of_segments(), quantile.of_everyone()]
            conversions[:, goal] = observed[:, goal] = [one.visitors for one in of_rows]
            values[:, goal] = Moments.stack([one.moments() for one in of_rows])
        return replace(self, conversions=conversions, observed=observed, values=values)

    @property
    def metrics(self) -> Moments:
        """Moments of each goal's metric where that is a mean; ratios are linearized by the delta method."""
        return with_ratios(self.values, self.ratios)


@dataclass(frozen=True, slots=True)
class SegmentVisitors:
    """Visitors of S segments by V variants, (S, V).

    `fixed` are dimensions known before any variant can act, so that only a fault can make them differ. The
    others come from the page or its sender, and a variant that redirects or acts early may change them.
    """

    segments: tuple[Segment, ...]
    visitors: IntArray
    fixed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.visitors.shape[0] != len(self.segments) or (self.visitors < 0).any():
            raise InvalidEvidenceError("every segment has a row of visitors, none of them negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEvidence:
    """Totals of S segments by G goals and V variants, in the order of the experiment.

    `everyone` has the visitors of unknown value too, which are in no segment of that dimension. The
    segments of a dimension share no visitor; those of different dimensions do. `left_out` says why of
    each dimension, or kind of segment, that was seen and is not in here. `quantiles` have the values of goals
    that are judged on a quantile, by the goal's row; `counts` have the quantile as their mean. Raises
    InvalidEvidenceError for a segment that is named twice or has more than everyone.
    """

    segments: tuple[Segment, ...]
    counts: Counts
    everyone: Counts
    left_out: Mapping[str, str] = field(default_factory=dict)
    as_of: datetime | None = None
    quantiles: Mapping[int, SegmentQuantiles] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.segments)) != len(self.segments):
            raise InvalidEvidenceError("a segment is named twice: add its counts up")
        shape = (len(self.segments), *self.everyone.conversions.shape)
        if self.counts.conversions.shape != shape:
            raise InvalidEvidenceError(f"conversions must have the shape {shape}")
        if (self.counts.visitors > self.everyone.visitors).any() or (
            self.counts.conversions > self.everyone.conversions
        ).any():
            raise InvalidEvidenceError("a segment has more visitors, or conversions, than everyone together")

    def check_shape(self, *, goals: int, variants: int) -> None:
        """Raise InvalidEvidenceError unless this is of so many goals and variants."""
        if self.everyone.conversions.shape != (goals, variants):
            raise InvalidEvidenceError(f"conversions must be of {goals} goals and {variants} variants")

    @property
    def rest(self) -> Counts:
        """Counts of all visitors outside each segment, those of unknown value among them."""
        shape = self.counts.revenue.n.shape
        whole, values = (of.broadcast_to(shape) for of in (self.everyone.revenue, self.everyone.values))
        metrics = moments_without(self.counts.values, values)
        for row, quantile in self.quantiles.items():
            if quantile.segments:
                metrics[:, row] = Moments.stack([one.moments() for one in quantile.of_rest()])
        return Counts(
            visitors=self.everyone.visitors - self.counts.visitors,
            conversions=self.everyone.conversions - self.counts.conversions,
            revenue=moments_without(self.counts.revenue, whole),
            values=metrics,
            observed=self.everyone.observed - self.counts.observed,
            ratios=pairs_without(self.counts.ratios, self.everyone.ratios.broadcast_to(shape)),
        )

    @property
    def by_visitors(self) -> SegmentVisitors:
        """Visitors of each segment by variant."""
        return SegmentVisitors(self.segments, self.counts.visitors)

    def largest(self, count: int) -> "SegmentEvidence":
        """Keep the `count` segments with most visitors, in their order; all, if there are no more."""
        small = len(self.segments) - count
        if small <= 0:
            return self
        by_size = np.argsort(-self.counts.visitors.sum(axis=1), kind="stable")
        kept = np.sort(by_size[:count])
        reason = f"{small:,} segments with the fewest visitors: at most {count:,} are judged at once"
        return SegmentEvidence(
            segments=tuple(self.segments[row] for row in kept.tolist()),
            counts=self.counts[kept],
            everyone=self.everyone,
            left_out={**self.left_out, "smallest": reason},
            as_of=self.as_of,
            quantiles={row: one.of(kept) for row, one in self.quantiles.items()},
        )


def dimensions_of(segments: Sequence[Segment]) -> dict[str, IntArray]:
    """Group rows by dimension, dimensions in order of appearance."""
    rows: dict[str, list[int]] = {}
    for row, segment in enumerate(segments):
        rows.setdefault(segment.dimension, []).append(row)
    return {dimension: np.array(places, np.int64) for dimension, places in rows.items()}
