"""Evidence from a lazy table: counts and moments that its engine computes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import narwhals as nw
import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.evidence.funnels import FunnelEvidence
from engine.analysis.evidence.totals import Totals
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames.counts import moment
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Retained, Revenue
from engine.frames.lazy.engine_queries import Table, fetch, flag
from engine.frames.lazy.lazy_caps import caps_of, with_judged_values
from engine.frames.lazy.lazy_covariates import with_indexes
from engine.frames.lazy.lazy_days import LazyDays
from engine.frames.lazy.lazy_funnels import counts_of_steps, funnels_of_counts
from engine.frames.lazy.lazy_largest import largest_lazy
from engine.frames.lazy.lazy_moments import Pair, moments_by_arm
from engine.frames.lazy.lazy_quantiles import quantiles_lazy
from engine.frames.lazy.lazy_rows import LazyRows
from engine.frames.lazy.lazy_values import GoalMoments
from engine.frames.lazy.lazy_visitors import by_visitor, of_one_variant, with_arms, with_known_outcomes
from engine.stats.arrays import IntArray
from engine.stats.moments import Moments


def count_lazy(
    rows: LazyRows, *, variants: Sequence[str], goals: Mapping[str, FrameGoal], timezone: str
) -> Evidence:
    """Count the rows of `lazy_rows` by variant and goal, as `count` does for those of a DataFrame.

    Only sums by variant, and by variant and local days, are fetched.
    """
    kinds, arms = list(goals.values()), len(variants)
    coded = with_arms(rows, variants, timezone)
    everyone = by_visitor(coded, kinds, is_distinct=rows.is_distinct)
    so_far = of_one_variant(everyone)
    plain = with_known_outcomes(so_far, kinds)
    caps = caps_of(plain, kinds)
    visitors, slopes = with_indexes(with_judged_values(plain, kinds, caps), kinds, arms)
    totals = _Totals(visitors, kinds, arms, caps)
    observed = totals.observed
    shares = Moments.of_shares(totals.conversions, totals.visitors if observed is None else observed)
    quantiles = quantiles_lazy(visitors, kinds, arms)
    moments = GoalMoments.fetch(visitors, kinds, arms, capped=caps, quantiles=quantiles)
    everything = _SoFar.fetch(so_far, kinds, arms)
    days = LazyDays.of(rows, coded, visitors, arms=arms)
    return Evidence(
        visitors=totals.visitors,
        conversions=totals.conversions,
        revenue=moments.revenue(kinds, totals.visitors.tolist()),
        daily=DailyEvidence.none(len(kinds), arms) if days is None else days.daily(kinds),
        several_variants=0 if rows.is_distinct else _count(everyone) - int(totals.visitors.sum()),
        as_of=moment(rows.last_us),
        last_exposure_at=None if days is None else days.last_at,
        # Whether a visitor is retained is known after a window, not from the first day on.
        follow_up=None if days is None or isinstance(kinds[0], Retained) else days.follow_up(),
        largest_cents=totals.largest_cents if everything is None else everything.largest_cents,
        largest=largest_lazy(visitors, kinds, arms),
        observed=observed,
        so_far=None if everything is None else everything.totals,
        with_denominator=totals.with_denominator,
        funnels=totals.funnels,
        quantiles=quantiles,
        values=totals.with_extremes(moments.visitor_values(kinds, shares), slopes),
    )


class _SoFar(NamedTuple):
    """What all visitors have done, whether their outcomes are known or not."""

    totals: Totals
    largest_cents: IntArray

    @classmethod
    def fetch(cls, visitors: Table, kinds: Sequence[FrameGoal], arms: int) -> Self | None:
        """Let the engine add up; None where every outcome is known."""
        if all(kind.known is None for kind in kinds):
            return None
        totals = _Totals(visitors, kinds, arms, {})
        money = [goal for goal, kind in enumerate(kinds) if isinstance(kind, Revenue)]
        found = moments_by_arm(visitors, [Pair(nw.col(f"sum_{goal}")) for goal in money], arms)
        cents = {goal: pair.y for goal, pair in zip(money, found, strict=True)}
        no_cents = Moments.of_zeros(totals.visitors)
        revenue = Moments.stack([cents.get(goal, no_cents) for goal in range(len(kinds))])
        return cls(Totals(conversions=totals.conversions, revenue=revenue), totals.largest_cents)


def _count(table: Table) -> int:
    return int(fetch(table.select(nw.len().alias("rows"))).item())


class _Totals:
    """Totals by variant, and by goal and variant, in one query."""

    def __init__(
        self, visitors: Table, kinds: Sequence[FrameGoal], arms: int, caps: Mapping[int, float]
    ) -> None:
        goals, known = range(len(kinds)), visitors.collect_schema().names()
        ratios = [goal for goal in goals if f"orders_{goal}" in known]
        found = fetch(
            visitors.group_by("arm").agg(
                nw.len().alias("visitors"),
                *(nw.col(f"done_{goal}").sum() for goal in goals),
                *(nw.col(f"sum_{goal}").max().alias(f"largest_{goal}") for goal in goals),
                *(nw.col(f"sum_{goal}").count().alias(f"known_{goal}") for goal in goals),
                *(flag(nw.col(f"orders_{goal}") > 0.0).sum().alias(f"divided_{goal}") for goal in ratios),
                *(flag(nw.col(f"sum_{goal}") != 0.0).sum().alias(f"nonzero_{goal}") for goal in ratios),
                *(nw.col(f"orders_{goal}").max() for goal in ratios),
                *counts_of_steps(kinds),
                *(
                    flag(nw.col(f"sum_{goal}") > cap).sum().alias(f"capped_{goal}")
                    for goal, cap in caps.items()
                ),
            )
        )
        every = pl.DataFrame({"arm": range(arms)}).join(found.cast({"arm": pl.Int64}), on="arm", how="left")
        self._by_arm = every.sort("arm").fill_null(0)
        self._kinds = kinds
        self._ratios = ratios
        self._caps = caps

    def with_extremes(self, values: VisitorValues | None, slopes: Mapping[int, int]) -> VisitorValues | None:
        """Add the caps and visitors above them, the numbers of slopes, and the extremes of ratios.

        Those are the visitors with a numerator other than 0, and the largest denominator of one.
        """
        if values is None:
            return None
        caps, capped, ranks = values.caps.copy(), values.capped.copy(), values.index_slopes.copy()
        for goal, cap in self._caps.items():
            caps[goal], capped[goal] = cap, self._by_arm[f"capped_{goal}"].cast(pl.Int64).to_numpy()
        for goal, rank in slopes.items():
            ranks[goal] = rank
        values = replace(values, caps=caps, capped=capped, index_slopes=ranks)
        nonzero, largest = values.nonzero.copy(), values.largest_orders.copy()
        for goal in self._ratios:
            for part, name in ((nonzero, "nonzero"), (largest, "orders")):
                part[goal] = self._by_arm[f"{name}_{goal}"].cast(pl.Float64).to_numpy()
        return replace(values, nonzero=nonzero, largest_orders=largest)

    def _stacked(self, name: str) -> IntArray:
        columns = [self._by_arm[f"{name}_{goal}"] for goal in range(len(self._kinds))]
        return np.stack([column.cast(pl.Float64).to_numpy() for column in columns]).astype(np.int64)

    @property
    def visitors(self) -> IntArray:
        return self._by_arm["visitors"].cast(pl.Int64).to_numpy()

    @property
    def funnels(self) -> dict[int, FunnelEvidence]:
        """Visitors at each step of the goals that are funnels, by their place."""
        return funnels_of_counts(self._by_arm, self._kinds)

    @property
    def conversions(self) -> IntArray:
        return self._stacked("done")

    @property
    def largest_cents(self) -> IntArray:
        is_revenue = np.array([[isinstance(kind, Revenue)] for kind in self._kinds])
        return np.where(is_revenue, self._stacked("largest"), 0)

    @property
    def with_denominator(self) -> IntArray:
        """Visitors whose denominator is above 0; all for a goal without one."""
        found = np.tile(self.visitors, (len(self._kinds), 1))
        for goal in self._ratios:
            found[goal] = self._by_arm[f"divided_{goal}"].cast(pl.Int64).to_numpy()
        return found

    @property
    def observed(self) -> IntArray | None:
        """Visitors whose outcome is known; None where every visitor has one."""
        may_lack = np.array([kind.is_partly_known for kind in self._kinds])
        if not may_lack.any():
            return None
        return np.where(may_lack[:, None], self._stacked("known"), self.visitors)
