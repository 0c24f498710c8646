"""Moments of goals in a lazy table: revenue and other values, ratios, and covariates."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import narwhals as nw

from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile, Revenue
from engine.frames.lazy.engine_queries import Table, fetch
from engine.frames.lazy.lazy_moments import Pair, Triple, moments_by_arm, triples_by_arm
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalMoments:
    """Moments by variant of goals, by their place.

    Of `values` of goals that are no shares of visitors; of `ratios` with the denominator as x; and of
    `covariates`, as x, with the value of visitors who have one. `without` are the values of the others. Of a
    ratio a covariate that is not known is the average, which adjusts nothing; `below` pairs it with the
    denominator, and `triples` are the sums of products of the deviations of all three. `plain` are the
    moments of values without the cap of their goal, where it has one.
    """

    values: dict[int, Moments]
    ratios: dict[int, PairedMoments]
    covariates: dict[int, PairedMoments]
    without: dict[int, Moments]
    below: dict[int, PairedMoments]
    triples: dict[int, FloatArray]
    plain: dict[int, Moments]

    @classmethod
    def fetch(
        cls,
        visitors: Table,
        kinds: Sequence[FrameGoal],
        arms: int,
        *,
        capped: Collection[int],
        quantiles: Mapping[int, QuantileEvidence],
    ) -> Self:
        """Let the engine take the moments in two queries, and in two more where ratios have covariates.

        `visitors` have `value_<i>` of each goal, and those of goals in `capped` are capped. The values of
        goals that are quantiles are `quantiles`.
        """
        known = visitors.collect_schema().names()
        values = [
            goal for goal, kind in enumerate(kinds) if not (kind.is_share or isinstance(kind, Quantile))
        ]
        ratios = [goal for goal in values if f"orders_{goal}" in known]
        covariates = [goal for goal in range(len(kinds)) if f"before_{goal}" in known]
        both = [goal for goal in ratios if goal in covariates]
        visitors = _filled(visitors, both)
        pairs = [
            *(Pair(_value(goal)) for goal in values),
            *(Pair(_value(goal), nw.col(f"orders_{goal}")) for goal in ratios),
            *(Pair(_value(goal), nw.col(f"before_{goal}")) for goal in covariates),
            *(Pair(_value_without(goal)) for goal in covariates),
            *(Pair(nw.col(f"orders_{goal}"), nw.col(f"before_{goal}")) for goal in both),
            *(Pair(nw.col(f"sum_{goal}")) for goal in capped),
        ]
        found = iter(moments_by_arm(visitors, pairs, arms))
        of_values = {goal: next(found).y for goal in values}
        of_values |= {goal: quantile.moments() for goal, quantile in quantiles.items()}
        of_ratios = {goal: next(found) for goal in ratios}
        of_covariates = {goal: next(found) for goal in covariates}
        without, below = {goal: next(found).y for goal in covariates}, {goal: next(found) for goal in both}
        plain = {goal: next(found).y for goal in capped}
        triples = [
            Triple(
                (nw.col(f"before_{goal}"), _value(goal), nw.col(f"orders_{goal}")),
                (of_covariates[goal].mean_x, of_ratios[goal].mean_y, of_ratios[goal].mean_x),
            )
            for goal in both
        ]
        return cls(
            values=of_values,
            ratios=of_ratios,
            covariates=of_covariates,
            without=without,
            below=below,
            triples=dict(zip(both, triples_by_arm(visitors, triples, arms), strict=True)),
            plain=plain,
        )

    def revenue(self, kinds: Sequence[FrameGoal], visitors: Sequence[int]) -> Moments:
        """Stack the moments of cents, goals by variants; zeros for a goal without revenue."""
        nothing = Moments.of_zeros(visitors)
        return Moments.stack(
            [
                self.plain.get(goal, self.values[goal]) if isinstance(kind, Revenue) else nothing
                for goal, kind in enumerate(kinds)
            ]
        )

    def visitor_values(self, kinds: Sequence[FrameGoal], shares: Moments) -> VisitorValues | None:
        """Build the values per visitor; None where counts and revenue tell all."""
        has_others = any(not kind.is_share and not isinstance(kind, Revenue) for kind in kinds)
        if not (self.ratios or self.covariates or self.plain or has_others):
            return None
        return VisitorValues.concatenate([self._values_of(goal, shares) for goal in range(len(kinds))])

    def _values_of(self, goal: int, shares: Moments) -> VisitorValues:
        plain = self.values[goal][None] if goal in self.values else shares[goal : goal + 1]
        found = VisitorValues.of(plain)
        if goal in self.ratios:
            found = replace(found, orders=self.ratios[goal][None])
        if goal in self.covariates and self.covariates[goal].n.any():
            before, without = self.covariates[goal][None], self.without[goal][None]
            found = replace(found, before=before, without_before=without)
            if goal in self.below:
                found = replace(found, before_orders=self.below[goal][None], triple=self.triples[goal][None])
        return found


def _filled(visitors: Table, goals: Sequence[int]) -> Table:
    """Fill unknown covariates of ratios with the average over all visitors whose outcome is known."""
    if not goals:
        return visitors
    names = [f"before_{goal}" for goal in goals]
    known = [
        nw.when(~_value(goal).is_null()).then(nw.col(name)).mean().alias(name)
        for goal, name in zip(goals, names, strict=True)
    ]
    averages = zip(names, fetch(visitors.select(*known)).row(0), strict=True)
    filled = [(name, average) for name, average in averages if average is not None]
    return visitors.with_columns(*(nw.col(name).fill_null(average) for name, average in filled))


def _value(goal: int) -> nw.Expr:
    return nw.col(f"value_{goal}")


def _value_without(goal: int) -> nw.Expr:
    return nw.when(nw.col(f"before_{goal}").is_null()).then(_value(goal))
