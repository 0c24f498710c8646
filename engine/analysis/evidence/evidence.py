"""Evidence of an experiment: totals by goal and variant, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Self

import numpy as np
import numpy.typing as npt

from engine.analysis.evidence.clusters import ClusterEvidence
from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.epochs import EpochEvidence
from engine.analysis.evidence.funnels import FunnelEvidence
from engine.analysis.evidence.interactions import InteractionEvidence
from engine.analysis.evidence.largest_visitors import LargestVisitors
from engine.analysis.evidence.other_currencies import OtherCurrencies
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.analysis.evidence.segments import SegmentVisitors
from engine.analysis.evidence.senders import SenderEvidence
from engine.analysis.evidence.totals import Totals
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.errors import InvalidEvidenceError
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyEvidence:
    """Counts by local calendar day; D days without a gap, G goals, V variants.

    `visitors[d, v]` were first exposed on day d; `conversions[d, g, v]` converted first on day d;
    `revenue_cents[d, g, v]` is of the orders of day d, and `amounts[d, g, v]` of the events of day d, NaN for
    goals without amounts; None where they are not known. `denominators` are those of ratios in the same way,
    whose `amounts` are of the numerator. Each adds up over d to its total.
    """

    days: tuple[date, ...]
    visitors: IntArray
    conversions: IntArray
    revenue_cents: IntArray
    amounts: FloatArray | None = None
    denominators: FloatArray | None = None

    @classmethod
    def none(cls, goals: int, variants: int, days: tuple[date, ...] = ()) -> Self:
        """Return zero counts, on days that may be known."""
        return cls(
            days=days,
            visitors=np.zeros((len(days), variants), np.int64),
            conversions=np.zeros((len(days), goals, variants), np.int64),
            revenue_cents=np.zeros((len(days), goals, variants), np.int64),
        )

    def __post_init__(self) -> None:
        _check_shape("daily conversions", self.conversions, self.revenue_cents.shape)
        for name, amounts in (("amounts", self.amounts), ("denominators", self.denominators)):
            if amounts is not None:
                _check_shape(f"daily {name}", amounts, self.revenue_cents.shape)
        _check_shape("daily visitors", self.visitors, (len(self.days), *self.revenue_cents.shape[2:]))
        for name, counts in (("visitors", self.visitors), ("conversions", self.conversions)):
            if (counts < 0).any():
                raise InvalidEvidenceError(f"daily {name} must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Totals of G goals by V variants, in the order of the experiment's goals and variants.

    `visitors[v]` is the number of distinct visitors counted; `conversions[g, v]` of those with at least
    one conversion; `revenue[g, v]` the moments of cents per visitor (every visitor counted, zeros
    included; all zero for a goal that carries no money). `several_variants` visitors saw more
    than one variant, `identity_conflicts` are users with visitor ids of different variants, and `bots` were
    flagged: none of these is counted anywhere else. `in_other_tests` visitors were counted in another test of
    the exclusion group, too; None where that is not known. `epochs` are the same
    totals by weight epoch, where weights changed; None where they never did. `segments`
    are the visitors of every segment, where they are known and these are the totals of all visitors. `values`
    are there where a goal is judged on more than counts and revenue, or the pre-period matters.
    `largest_cents[g, v]` is the largest revenue of one visitor; None where visitors' revenue is not known.
    `largest` has the values of the largest visitors, of goals that are means; None where they are not known.
    `senders` are known where the service has counted their events by kind, and `other_currencies` of revenue
    goals with orders that they do not count; None where the currencies of orders are not known.
    `observed[g, v]` visitors have a known outcome of the goal, where some do not have one yet; None where all
    have. Conversions, revenue and values are of those visitors only; `so_far` has what all did so far, where
    that is more. `with_denominator[g, v]` visitors have a denominator above 0, on goals that are ratios; None
    where that is not known. `funnels` have the steps of goals that are funnels, and `quantiles` the counted
    values of goals that are judged on a quantile, both by the goal's row; `values` of the latter have the
    quantile as their mean. `covariates` name what `values` has from before the first exposure, by row, too.
    `missing_sources` are imports without whose events the outcomes of imported visitors are not known.
    `sums_from` names who counted the sums, where no service counted events for them.
    `is_table` where the rows or sums of a table are counted, and no events of a service.
    `follow_up` is of the primary goal; None where it is not known when visitors converted after exposure.
    `interactions` with other tests are those of the last night; None where none were looked for.
    `clusters` were assigned as a whole; None where visitors were assigned one by one. With them
    `several_variants` counts clusters, and `values` are those of clusters: each goal's `orders` pair the
    denominator of a cluster, such as its visitors, with its numerator.
    Derived, goals by variants: `trials` are visitors whose outcome is known, and `known_units` those of the
    units of assignment, which comparisons count: visitors, or their clusters. `assigned` are all of these by
    variant, and `totals` what all visitors did so far, whether their outcomes are known or not. `noun` is
    what a unit of assignment is called, and `is_imported` holds where every visitor is of a table, and no
    page or server sent any.
    Raises InvalidEvidenceError for numbers that can't have been observed together.
    """

    visitors: IntArray
    conversions: IntArray
    revenue: Moments
    daily: DailyEvidence
    several_variants: int = 0
    identity_conflicts: int = 0
    in_other_tests: int | None = None
    bots: int = 0
    as_of: datetime | None = None
    last_exposure_at: datetime | None = None
    epochs: EpochEvidence | None = None
    segments: SegmentVisitors | None = None
    values: VisitorValues | None = None
    follow_up: FollowUp | None = None
    largest_cents: IntArray | None = None
    largest: LargestVisitors | None = None
    senders: SenderEvidence | None = None
    other_currencies: tuple[OtherCurrencies, ...] | None = None
    observed: IntArray | None = None
    with_denominator: IntArray | None = None
    so_far: Totals | None = None
    funnels: Mapping[int, FunnelEvidence] = field(default_factory=dict)
    quantiles: Mapping[int, QuantileEvidence] = field(default_factory=dict)
    covariates: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    is_table: bool = False
    sums_from: str | None = None
    missing_sources: tuple[str, ...] = ()
    clusters: ClusterEvidence | None = None
    interactions: InteractionEvidence | None = None
    trials: IntArray = field(init=False)
    assigned: IntArray = field(init=False)
    known_units: IntArray = field(init=False)
    totals: Totals = field(init=False)
    noun: str = field(init=False)
    is_imported: bool = field(init=False)

    def __post_init__(self) -> None:
        goals, variants = self.conversions.shape
        _check_totals(self)
        _check_shape("visitors", self.visitors, (variants,))
        _check_shape("revenue", self.revenue.n, (goals, variants))
        _check_shape("daily conversions", self.daily.conversions, (len(self.daily.days), goals, variants))
        _check_known(self, goals, variants)
        if (self.visitors < 0).any() or min(self.several_variants, self.identity_conflicts, self.bots) < 0:
            raise InvalidEvidenceError("numbers of visitors must not be negative")
        if ((self.conversions < 0) | (self.conversions > self.visitors)).any():
            raise InvalidEvidenceError(
                "conversions must lie between 0 and the visitors of their variant: count each visitor once"
            )
        _check_observed(self)
        if self.clusters is not None:
            self.clusters.check_visitors(self.visitors)
        trials = self.observed
        if trials is None:
            trials = np.broadcast_to(self.visitors, self.conversions.shape)
        derived = {
            "trials": trials,
            "assigned": self.visitors if self.clusters is None else self.clusters.total,
            "known_units": trials if self.clusters is None else self.clusters.known,
            "totals": self.so_far or Totals(conversions=self.conversions, revenue=self.revenue),
            "noun": "visitor" if self.clusters is None else self.clusters.noun,
            "is_imported": self.is_table
            or (self.senders is not None and set(self.senders.visitors) == {"import"}),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        n = self.revenue.n
        if ((n != self.visitors) & (n != self.trials) & (n != 0)).any():
            raise InvalidEvidenceError(
                "revenue must be of every visitor counted, zeros included: its n differs from the visitors"
            )

    def known_outcomes(self, goal: int | None) -> int:
        """Count the visitors whose outcome of a goal is known, all variants together; all without a goal.

        They are the information of a test: what plans, looks and intervals that hold at every look count.
        Clusters with such a visitor where those were assigned.
        """
        return int((self.assigned if goal is None else self.known_units[goal]).sum())

    def open_visitors(self, known_after: IntArray) -> int:
        """Count the visitors with an outcome still to come, of any goal with days until it is known."""
        entered = int(self.visitors.sum())
        known = self.trials.sum(axis=1)[known_after > 0]
        return entered - int(known.min(initial=entered))

    def check_shape(self, *, goals: int, variants: int) -> None:
        """Raise InvalidEvidenceError unless this is of so many goals and variants."""
        _check_shape("conversions", self.conversions, (goals, variants))

    @classmethod
    def empty(cls, goals: int, variants: int, days: tuple[date, ...] = ()) -> Self:
        """Return evidence without visitors: zeros of the right shapes."""
        return cls(
            visitors=np.zeros(variants, np.int64),
            conversions=np.zeros((goals, variants), np.int64),
            revenue=Moments.full((goals, variants), 0.0),
            daily=DailyEvidence.none(goals, variants, days),
        )


def _check_known(evidence: Evidence, goals: int, variants: int) -> None:
    """Check the shapes of what is not always known."""
    if evidence.follow_up is not None:
        _check_shape("visitors followed", evidence.follow_up.at_risk[:0], (0, variants))
    if evidence.segments is not None:
        shape = len(evidence.segments.segments), variants
        _check_shape("segments", evidence.segments.visitors, shape)
    by_goal = {
        "largest_cents": evidence.largest_cents,
        "largest": None if evidence.largest is None else evidence.largest.value[..., 0],
        "values": None if evidence.values is None else evidence.values.value.n,
    }
    for name, array in by_goal.items():
        if array is not None:
            _check_shape(name, array, (goals, variants))


def _check_observed(evidence: Evidence) -> None:
    shape = evidence.conversions.shape
    if evidence.observed is not None:
        _check_shape("observed", evidence.observed, shape)
        if ((evidence.observed < evidence.conversions) | (evidence.observed > evidence.visitors)).any():
            raise InvalidEvidenceError(
                "observed must lie between the conversions and the visitors of a variant"
            )
    if evidence.with_denominator is not None:
        _check_shape("with_denominator", evidence.with_denominator, shape)
        if (evidence.with_denominator > evidence.visitors).any():
            raise InvalidEvidenceError("with_denominator must not be more than the visitors of a variant")


def _check_totals(evidence: Evidence) -> None:
    epochs = evidence.epochs
    if epochs is None:
        return
    _check_shape("conversions by epoch", epochs.conversions, (len(epochs), *evidence.conversions.shape))
    for name in ("visitors", "conversions"):
        if (getattr(epochs, name).sum(axis=0) != getattr(evidence, name)).any():
            raise InvalidEvidenceError(f"{name} of the epochs must add up to the {name} of the experiment")


def _check_shape(name: str, array: npt.NDArray[np.generic], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InvalidEvidenceError(f"{name} must have the shape {shape}, not {array.shape}")
