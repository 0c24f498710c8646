"""Counts by local day that a lazy table's engine computes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import narwhals as nw
import numpy as np
import polars as pl

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.evidence import DailyEvidence
from engine.frames.counted_days import spread
from engine.frames.counts import moment
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Revenue
from engine.frames.lazy.engine_queries import Table, fetch
from engine.frames.lazy.lazy_rows import LazyRows, microseconds_of
from engine.local_days import from_epoch_days


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyDays:
    """Counted rows and visitors of a lazy table with local days, and the span of their days.

    `last_at` is the last time of a counted row; `today` the last day of all rows.
    """

    counted: Table
    visitors: Table
    arms: int
    span: range
    today: int
    last_at: datetime | None

    @classmethod
    def of(cls, rows: LazyRows, coded: Table, visitors: Table, *, arms: int) -> Self | None:
        """Find the span of days of the counted visitors' rows; None without times."""
        if rows.first_us is None:
            return None
        counted = coded
        if not rows.is_distinct:
            counted = coded.join(visitors.select("visitor"), on="visitor", how="semi")
        today = fetch(coded.select(nw.col("day").max()))
        facts = fetch(
            counted.select(
                nw.col("day").min().alias("first"), nw.col("day").max().alias("last"), nw.col("at").max()
            )
        )
        first, last = facts["first"].item(), facts["last"].item()
        return cls(
            counted=counted,
            visitors=visitors,
            arms=arms,
            span=range(0) if first is None else range(int(first), int(last) + 1),
            today=int(today.item()),
            last_at=moment(microseconds_of(facts["at"])),
        )

    def daily(self, kinds: Sequence[FrameGoal]) -> DailyEvidence:
        """Count visitors and conversions by their first day, and cents by the day of the row."""
        conversions = [self._count(f"day_{goal}") for goal in range(len(kinds))]
        nothing = np.zeros((len(self.span), self.arms), np.int64)
        cents = [
            self._spread(self._sum_cents(goal)) if isinstance(kind, Revenue) else nothing
            for goal, kind in enumerate(kinds)
        ]
        return DailyEvidence(
            days=tuple(from_epoch_days(day) for day in self.span),
            visitors=self._count("day"),
            conversions=np.stack(conversions, axis=1),
            revenue_cents=np.stack(cents, axis=1),
        )

    def follow_up(self) -> FollowUp:
        """Count the first goal's conversions by days since the visitor's first row, without the last day."""
        day, since = nw.col("day"), (nw.col("day_0") - nw.col("day")).alias("since")
        known = self.visitors.filter(~nw.col("day_0").is_null()).select(day, since, "arm")
        came = self.visitors.group_by("day", "arm").agg(nw.len().alias("visitors"))
        done = known.group_by("day", "since", "arm").agg(nw.len().alias("visitors"))
        columns = (
            [column.cast(pl.Int64).to_numpy() for column in fetch(table).get_columns()]
            for table in (came, done)
        )
        return FollowUp.of_counts(*columns, variants=self.arms, today=self.today)

    def _count(self, day: str) -> np.ndarray:
        chosen = self.visitors.filter(~nw.col(day).is_null())
        return self._spread(
            chosen.group_by(day, "arm")
            .agg(nw.len().alias("amount"))
            .select(nw.col(day).alias("of_day"), "arm", "amount")
        )

    def _sum_cents(self, goal: int) -> Table:
        sums = self.counted.group_by("day", "arm").agg(nw.col(f"goal_{goal}").sum().alias("amount"))
        return sums.select(nw.col("day").alias("of_day"), "arm", "amount")

    def _spread(self, sums: Table) -> np.ndarray:
        found = fetch(sums).with_columns(pl.col("amount").cast(pl.Float64).cast(pl.Int64))
        return spread(found["of_day"], found["arm"], self.span, self.arms, found["amount"])
