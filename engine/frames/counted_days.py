"""Counts by local day of rows of a DataFrame, and the follow-up of their visitors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.evidence import DailyEvidence
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Revenue
from engine.local_days import epoch_days, from_epoch_days
from engine.stats.arrays import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohorts:
    """Conversions of the first goal by `day` of the visitor's first row, days `since`, and `variant`.

    `today` is the last day of all rows, which may be incomplete and is left out.
    """

    converted: pl.DataFrame
    today: int

    @classmethod
    def of(cls, visitors: pl.DataFrame, today: object) -> Self | None:
        """Count visitors in the form of `by_visitor`; None without times."""
        if not isinstance(today, int):
            return None
        since = (pl.col("day_0") - pl.col("day")).alias("since")
        done = (
            visitors.lazy().select("day", since, "variant").drop_nulls().group_by("day", "since", "variant")
        )
        return cls(converted=done.agg(pl.len().cast(pl.Int64).alias("visitors")).collect(), today=today)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the cohorts of different visitors."""
        return cls(
            converted=pl.concat([part.converted for part in parts]), today=max(part.today for part in parts)
        )

    def of_variants(self, numbers: IntArray) -> Self:
        """Give each variant another number, at the place of its present one."""
        variants = pl.Series("variant", numbers[self.converted["variant"].to_numpy()])
        return replace(self, converted=self.converted.with_columns(variants))

    def follow_up(self, daily: DailyEvidence) -> FollowUp:
        """Count conversions by days since the visitor's first row, of visitors counted by day."""
        days, arms = np.nonzero(daily.visitors)
        first = epoch_days(daily.days[0]) if daily.days else 0
        came = (days + first, arms, daily.visitors[days, arms])
        converted = [column.to_numpy() for column in self.converted.get_columns()]
        return FollowUp.of_counts(came, converted, variants=daily.visitors.shape[1], today=self.today)


def daily_of(
    counted: pl.DataFrame, visitors: pl.DataFrame, kinds: Sequence[FrameGoal], variants: int
) -> DailyEvidence:
    """Count visitors and conversions by their first day, and cents by the day of the row."""
    first, last = counted["day"].min(), counted["day"].max()
    days = range(first, last + 1) if isinstance(first, int) and isinstance(last, int) else range(0)
    shape = (len(days), len(kinds), variants)
    conversions, cents = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for goal, kind in enumerate(kinds):
        done = visitors.select(pl.col(f"day_{goal}").alias("day"), "variant").drop_nulls()
        conversions[:, goal] = spread(done["day"], done["variant"], days, variants)
        if isinstance(kind, Revenue):
            paid = counted.select("day", "variant", f"goal_{goal}").filter(pl.col(f"goal_{goal}") != 0)
            cents[:, goal] = spread(paid["day"], paid["variant"], days, variants, paid[f"goal_{goal}"])
    return DailyEvidence(
        days=tuple(from_epoch_days(day) for day in days),
        visitors=spread(visitors["day"], visitors["variant"], days, variants),
        conversions=conversions,
        revenue_cents=cents,
    )


def spread(
    days: pl.Series, arms: pl.Series, span: range, variants: int, amounts: pl.Series | None = None
) -> IntArray:
    """Sum counts or amounts by day of the span and variant."""
    cells = (days.to_numpy() - np.int32(span.start)) * np.int32(variants) + arms.to_numpy()
    if amounts is None:
        return np.bincount(cells, minlength=len(span) * variants).reshape(-1, variants)
    # Sums of doubles would not be exact.
    found = pl.DataFrame({"cell": cells, "amount": amounts}).group_by("cell").agg(pl.col("amount").sum())
    total = np.zeros(len(span) * variants, np.int64)
    total[found["cell"].to_numpy()] = found["amount"].to_numpy()
    return total.reshape(-1, variants)
