"""Evidence from a table of sums."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.evidence.segments import Counts
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames.counted_days import spread
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Revenue
from engine.frames.sums.sum_columns import VISITORS, counts
from engine.frames.sums.sum_days import SumDays
from engine.frames.sums.sum_goals import SumGoal
from engine.local_days import from_epoch_days
from engine.stats.arrays import AnyArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

_Merged = TypeVar("_Merged", Moments, PairedMoments)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumCounts:
    """Counts and moments by rows of a table of sums; `arms` has the number of each row's variant."""

    arms: IntArray
    variants: int
    visitors: IntArray
    goals: Sequence[SumGoal]
    days: SumDays | None

    @classmethod
    def of(
        cls,
        table: pl.DataFrame,
        *,
        variants: Sequence[str],
        goals: Mapping[str, FrameGoal],
        units: Mapping[str, int],
        days: SumDays | None = None,
    ) -> Self:
        """Read the table of `read_sums`; `units` are the minor ones in 1 of each goal's currency.

        Raises InvalidEvidenceError for a column that is missing or impossible.
        """
        codes = {name: code for code, name in enumerate(variants)}
        return cls(
            arms=np.array([codes[name] for name in table["variant"].to_list()], np.int64),
            variants=len(variants),
            visitors=np.array(counts(table, VISITORS), np.int64),
            goals=[SumGoal.of(table, name, kind, units=units[name]) for name, kind in goals.items()],
            days=days,
        )

    def evidence(self) -> Evidence:
        """Add the rows up by variant, and by day where there are days."""
        visitors = self._added(self.visitors)
        conversions = np.stack([self._added(goal.conversions) for goal in self.goals])
        known = np.stack([self._added(goal.known) for goal in self.goals])
        last = None if self.days is None else self.days.last
        return Evidence(
            visitors=visitors,
            conversions=conversions,
            revenue=self._moments(visitors, self.arms, self._is_revenue),
            daily=self._daily(),
            as_of=last,
            last_exposure_at=last,
            observed=None if (known == visitors).all() else known,
            values=self._values(Moments.of_shares(conversions, known)),
        )

    def by_segment(self, codes: IntArray, segments: int) -> Counts:
        """Add the rows up by segment and variant; `codes` has the number of each row's segment."""
        shape = (segments, self.variants)
        cells, size = codes * self.variants + self.arms, segments * self.variants
        visitors = _added(self.visitors, cells, size)
        conversions = [_added(goal.conversions, cells, size) for goal in self.goals]

        def arranged(part: AnyArray) -> AnyArray:
            return part.reshape(-1, *shape).swapaxes(0, 1)

        return Counts(
            visitors=visitors.reshape(shape),
            conversions=np.stack([one.reshape(shape) for one in conversions], axis=1),
            revenue=self._moments(visitors, cells, self._is_revenue).map(arranged),
            values=self._moments(visitors, cells, lambda _: True).map(arranged),
        )

    def _added(self, by_row: IntArray) -> IntArray:
        return _added(by_row, self.arms, self.variants)

    def _merged(self, by_row: _Merged) -> _Merged:
        return _merged(by_row, self.arms, self.variants)

    @staticmethod
    def _is_revenue(goal: SumGoal) -> bool:
        return isinstance(goal.kind, Revenue)

    def _moments(self, visitors: IntArray, cells: IntArray, is_chosen: Callable[[SumGoal], bool]) -> Moments:
        """Moments of the values of chosen goals, by cells of so many visitors; zeros for the other goals."""
        nothing = Moments.of_zeros(visitors)
        return Moments.stack(
            [
                nothing
                if goal.values is None or not is_chosen(goal)
                else _merged(goal.values, cells, len(visitors))
                for goal in self.goals
            ]
        )

    def _values(self, shares: Moments) -> VisitorValues | None:
        """Values per visitor; None where counts and revenue tell all."""
        if all(goal.kind.is_share or isinstance(goal.kind, Revenue) for goal in self.goals):
            return None
        found = list[VisitorValues]()
        for place, goal in enumerate(self.goals):
            plain = shares[place : place + 1] if goal.values is None else self._merged(goal.values)[None]
            values = VisitorValues.of(plain)
            if goal.ratio is not None:
                values = replace(values, orders=self._merged(goal.ratio)[None])
            found.append(values)
        return VisitorValues.concatenate(found)

    def _daily(self) -> DailyEvidence:
        days = self.days
        if days is None:
            return DailyEvidence.none(len(self.goals), self.variants)

        def by_day(amounts: IntArray) -> IntArray:
            rows = pl.Series(self.arms), days.span, self.variants, pl.Series(amounts)
            return spread(days.by_row, *rows)

        cents = [
            (
                goal.values.total.round()
                if isinstance(goal.kind, Revenue) and goal.values is not None
                else goal.known * 0
            )
            for goal in self.goals
        ]
        return DailyEvidence(
            days=tuple(from_epoch_days(day) for day in days.span),
            visitors=by_day(self.visitors),
            conversions=np.stack([by_day(goal.conversions) for goal in self.goals], axis=1),
            revenue_cents=np.stack([by_day(amounts.astype(np.int64)) for amounts in cents], axis=1),
        )


def _added(by_row: IntArray, cells: IntArray, size: int) -> IntArray:
    total = np.zeros(size, np.int64)
    np.add.at(total, cells, by_row)
    return total


def _merged(by_row: _Merged, cells: IntArray, size: int) -> _Merged:
    return type(by_row).stack([by_row[cells == cell].sum_over(0) for cell in range(size)])
