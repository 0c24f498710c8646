"""Days of a goal, each of which is made when it is asked for."""

from collections.abc import Sequence
from datetime import date
from typing import overload

from engine.analysis.evidence.evidence import DailyEvidence
from engine.analysis.results.numbers import numbers
from engine.analysis.results.report import DayResult

Day = tuple[date, dict[str, DayResult]]


class GoalDays(Sequence[Day]):
    """Days of one goal, with results by variant id.

    Of many goals, variants and days, most results are read by nobody, and all of them take seconds to make.
    """

    __slots__ = ("_daily", "_goal", "_variant_ids")

    def __init__(self, daily: DailyEvidence, goal: int, variant_ids: Sequence[str]) -> None:
        """Take the days of the goal at a place among the goals."""
        self._daily = daily
        self._goal = goal
        self._variant_ids = variant_ids

    def __len__(self) -> int:
        return len(self._daily.days)

    @overload
    def __getitem__(self, place: int) -> Day: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Day, ...]: ...

    def __getitem__(self, place: int | slice) -> Day | tuple[Day, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(*place.indices(len(self))))
        daily, cell = self._daily, (place, self._goal)
        counts = (daily.visitors[place], daily.conversions[cell], daily.revenue_cents[cell])
        unknown = [None] * len(self._variant_ids)
        amounts, denominators = (
            unknown if known is None else numbers(known[cell])
            for known in (daily.amounts, daily.denominators)
        )
        results = map(_day_result, *(count.tolist() for count in counts), amounts, denominators)
        return daily.days[place], dict(zip(self._variant_ids, results, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment] # as that of the dictionaries

    def __repr__(self) -> str:
        return repr(tuple(self))


def _day_result(
    visitors: int, conversions: int, revenue_cents: int, amount: float | None, denominator: float | None
) -> DayResult:
    return DayResult(
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=revenue_cents,
        revenue_per_visitor_cents=revenue_cents / visitors if visitors else 0.0,
        amount=amount,
        denominator=denominator,
    )
