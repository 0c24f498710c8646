"""Counts of parts of the rows, added up to the evidence of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeVar

import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.evidence.largest_visitors import MOST, LargestVisitors
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames.counted_days import Cohorts
from engine.frames.counts import Counted, count
from engine.frames.kinds import Count, Revenue
from engine.frames.rows import Columns
from engine.frames.seen import Seen, seen_in
from engine.local_days import epoch_days, from_epoch_days
from engine.stats.arrays import AnyArray, FloatArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

_Pooled = TypeVar("_Pooled", Moments, PairedMoments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Counts of all rows of some visitors, by the variants that were seen in them.

    `totals` are the sums of sizes of goals that are whole numbers: counts and cents.
    """

    seen: Seen
    counted: Counted
    totals: FloatArray

    @classmethod
    def of(cls, rows: pl.DataFrame, columns: Columns, timezone: str) -> Self:
        """Count rows of `read_rows`, without funnels, quantiles, caps, covariates and known outcomes."""
        seen, goals = seen_in(rows), columns.goals
        whole = [place for place, goal in enumerate(goals.values()) if isinstance(goal, Count | Revenue)]
        return cls(
            seen=seen,
            counted=count(
                rows,
                variants=seen.variants,
                goals=goals,
                timezone=timezone,
                is_distinct=columns.visitor is None,
            ),
            totals=np.array([float(rows[f"goal_{place}"].abs().sum()) for place in whole]),
        )


def add_up(parts: Sequence[Part], variants: Sequence[str]) -> Evidence:
    """Add parts up, with the variants in this order."""
    columns = [np.array([variants.index(name) for name in part.seen.variants]) for part in parts]
    stack = _Stack(columns, len(variants))
    found = [part.counted.evidence for part in parts]
    visitors = stack([part.visitors for part in found])
    daily = _daily([part.daily for part in found], stack)
    cohorts = [
        part.counted.cohorts.of_variants(numbers)
        for part, numbers in zip(parts, columns, strict=True)
        if part.counted.cohorts is not None
    ]
    values = [part.values for part in found if part.values is not None]
    return Evidence(
        visitors=visitors.sum(axis=0),
        conversions=stack([part.conversions for part in found]).sum(axis=0),
        revenue=stack.pooled([part.revenue for part in found]),
        daily=daily,
        several_variants=sum(part.several_variants for part in found),
        as_of=max((part.as_of for part in found if part.as_of is not None), default=None),
        last_exposure_at=max(
            (part.last_exposure_at for part in found if part.last_exposure_at is not None), default=None
        ),
        follow_up=Cohorts.concatenate(cohorts).follow_up(daily) if cohorts else None,
        largest_cents=_largest_cents([part.largest_cents for part in found], visitors, stack),
        largest=_largest([part.largest for part in found if part.largest is not None], stack),
        observed=stack.sums([part.observed for part in found]),
        with_denominator=stack.sums([part.with_denominator for part in found]),
        values=_values(values, stack) if values else None,
    )


@dataclass(frozen=True, slots=True)
class _Stack:
    """Stacks arrays of the parts, each variant in its place of the last axis."""

    columns: Sequence[IntArray]
    variants: int

    def __call__(self, arrays: Sequence[AnyArray], fill: float = 0) -> AnyArray:
        """Stack arrays along a new first axis; `fill` is of a variant that was not seen in a part."""
        shape = (len(arrays), *arrays[0].shape[:-1], self.variants)
        stacked = np.full(shape, fill, arrays[0].dtype)
        for place, (array, columns) in enumerate(zip(arrays, self.columns, strict=True)):
            stacked[place][..., columns] = array
        return stacked

    def pooled(self, records: Sequence[_Pooled]) -> _Pooled:
        """Pool moments; those of one part are as they are, to the last digit."""
        stacked = type(records[0]).combine(self, records)
        return stacked[0] if len(records) == 1 else stacked.sum_over(0)

    def sums(self, arrays: Sequence[IntArray | None]) -> IntArray | None:
        """Add up arrays; None where there are none."""
        known = [array for array in arrays if array is not None]
        return self(known).sum(axis=0) if known else None


def _daily(parts: Sequence[DailyEvidence], stack: _Stack) -> DailyEvidence:
    days = [epoch_days(day) for part in parts for day in part.days]
    span = range(min(days), max(days) + 1) if days else range(0)

    def summed(name: str) -> IntArray:
        aligned = []
        for part in parts:
            counts = getattr(part, name)
            all_days = np.zeros((len(span), *counts.shape[1:]), np.int64)
            if part.days:
                start = epoch_days(part.days[0]) - span.start
                all_days[start : start + len(part.days)] = counts
            aligned.append(all_days)
        total: IntArray = stack(aligned).sum(axis=0)
        return total

    return DailyEvidence(
        days=tuple(from_epoch_days(day) for day in span),
        visitors=summed("visitors"),
        conversions=summed("conversions"),
        revenue_cents=summed("revenue_cents"),
    )


def _largest_cents(parts: Sequence[IntArray | None], visitors: IntArray, stack: _Stack) -> IntArray:
    """Find the largest cents of one visitor, which may be below 0; 0 without visitors."""
    known = stack([part for part in parts if part is not None])
    least = np.iinfo(np.int64).min
    largest = np.where(visitors[:, None] > 0, known, least).max(axis=0)
    found: IntArray = np.where(largest == least, 0, largest)
    return found


def _largest(parts: Sequence[LargestVisitors], stack: _Stack) -> LargestVisitors:
    by_place = [part.map(lambda array: array.swapaxes(1, 2)) for part in parts]
    stacked = LargestVisitors.combine(partial(stack, fill=np.nan), by_place)
    halves = []
    for first, name in ((0, "value"), (MOST, "denominator")):
        each = stacked[:, :, first : first + MOST].map(lambda array: np.concatenate(array, axis=1))
        order = np.argsort(-np.abs(getattr(each, name)), axis=1, kind="stable")[:, :MOST]
        halves.append(each.map(partial(np.take_along_axis, indices=order, axis=1)))
    joined = LargestVisitors.combine(partial(np.concatenate, axis=1), halves)
    return joined.map(lambda array: array.swapaxes(1, 2))


def _values(parts: Sequence[VisitorValues], stack: _Stack) -> VisitorValues:
    return replace(
        VisitorValues.of(stack.pooled([part.value for part in parts])),
        orders=stack.pooled([part.orders for part in parts]),
        nonzero=stack([part.nonzero for part in parts]).sum(axis=0),
        largest_orders=stack([part.largest_orders for part in parts]).max(axis=0),
    )
