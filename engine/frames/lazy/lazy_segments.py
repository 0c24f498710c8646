"""Segments of a lazy table: its engine adds up the visitors by each value of each column."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import narwhals as nw
import numpy as np
import polars as pl

from engine.analysis.evidence.segment_quantiles import Arms, SegmentQuantiles
from engine.analysis.evidence.segments import Counts, Segment, SegmentEvidence
from engine.analysis.evidence.totals import Totals
from engine.analysis.evidence.visitor_values import no_pairs
from engine.frames.counts import moment
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile, Ratio, Revenue
from engine.frames.lazy.engine_queries import Table, fetch
from engine.frames.lazy.lazy_moments import Deviations, Pair
from engine.frames.lazy.lazy_quantiles import buckets_of_arms, value_counts
from engine.frames.lazy.lazy_rows import LazyRows
from engine.frames.lazy.lazy_visitors import by_visitor, of_one_variant, with_arms, with_known_outcomes
from engine.stats.arrays import AnyArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


def count_segments_lazy(rows: LazyRows, variants: Sequence[str]) -> SegmentEvidence:
    """Count the rows of `lazy_rows` by segment, as `analyze_frame_segments` counts those of a DataFrame.

    Only sums by variant and value of a column are fetched. Of rows of one time, none of which is the first,
    a visitor has the least value.
    """
    kinds = list(rows.columns.goals.values())
    everyone = by_visitor(with_arms(rows, variants, "UTC"), kinds, is_distinct=rows.is_distinct)
    sums = _Sums.of(of_one_variant(everyone), kinds, len(variants), len(rows.columns.segments))
    names = np.array(rows.columns.segments)
    parts = [sums.fetch(f"segment_{place}") for place in np.argsort(names, kind="stable").tolist()]
    whole = sums.fetch()
    quantiles = {
        goal: SegmentQuantiles(
            kind.q, tuple(arms for part in parts for arms in part.quantiles[goal]), whole.quantiles[goal][0]
        )
        for goal, kind in enumerate(kinds)
        if isinstance(kind, Quantile)
    }
    counts = Counts.concatenate([*(part.counts for part in parts), whole.counts]).with_quantiles(quantiles)
    return SegmentEvidence(
        segments=tuple(
            Segment(name, value)
            for name, part in zip(np.sort(names, kind="stable").tolist(), parts, strict=True)
            for value in part.values
        ),
        counts=counts[:-1],
        everyone=counts[-1],
        as_of=moment(rows.last_us),
        quantiles=quantiles,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Counts by the values of a column, in order, and of goals that are quantiles their values."""

    values: list[str]
    counts: Counts
    quantiles: dict[int, list[Arms]]


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of visitors, of whom `deviations` have the values of goals, that can be asked for by a column."""

    visitors: Table
    kinds: Sequence[FrameGoal]
    arms: int
    deviations: Deviations
    pairs: list[str]

    @classmethod
    def of(cls, everyone: Table, kinds: Sequence[FrameGoal], arms: int, segments: int) -> Self:
        """Prepare the sums of visitors of one variant, in one query."""
        known = [goal for goal, kind in enumerate(kinds) if kind.known is not None]
        kept = everyone.with_columns(
            "arm",
            *(nw.col(f"done_{goal}").alias(f"ever_{goal}") for goal in known),
            *(nw.col(f"sum_{goal}").alias(f"all_{goal}") for goal in known),
        )
        visitors = with_known_outcomes(kept, kinds)
        pairs = dict(_pairs(kinds))
        flags = [name for name in visitors.collect_schema().names() if name.startswith(("done_", "ever_"))]
        columns = [f"segment_{place}" for place in range(segments)]
        keeping = [*columns, *flags, *(f"known_{goal}" for goal in known)]
        deviations = Deviations.of(visitors, list(pairs.values()), arms, keeping=keeping)
        return cls(visitors, kinds, arms, deviations, list(pairs))

    def fetch(self, *by: str) -> _Part:
        """Fetch the sums by the values of a column; without one those of all visitors."""
        names = [name for name in self.deviations.table.collect_schema().names() if name.startswith("done_")]
        known = [goal for goal, kind in enumerate(self.kinds) if kind.known is not None]
        totals = [
            nw.len().alias("visitors"),
            *(nw.col(name).sum() for name in names),
            *(nw.col(f"ever_{goal}").sum() for goal in known),
            *(nw.col(f"known_{goal}").sum() for goal in known),
        ]
        found = fetch(self.deviations.sums(*by, totals=totals))
        values, rows = _by_value(found, *by)
        cells = _Cells(rows, len(values), self.arms)
        moments = dict(zip(self.pairs, map(cells.moments, self.deviations.moments(rows)), strict=True))
        return _Part(values, self._counts(cells, moments), dict(self._quantiles(values, *by)))

    def _counts(self, cells: "_Cells", moments: Mapping[str, PairedMoments]) -> Counts:
        kinds = list(enumerate(self.kinds))
        visitors = cells.counts("visitors")
        done = [cells.counts(f"done_{goal}") for goal, _ in kinds]
        ever = [done[goal] if kind.known is None else cells.counts(f"ever_{goal}") for goal, kind in kinds]
        observed = [visitors if kind.known is None else cells.counts(f"known_{goal}") for goal, kind in kinds]
        nothing = [Moments.of_zeros(n) for n in observed]
        values = [
            moments[f"sum_{goal}"].y if f"sum_{goal}" in moments else nothing[goal] for goal, _ in kinds
        ]
        money = [values[goal] if isinstance(kind, Revenue) else nothing[goal] for goal, kind in kinds]
        all_money = [
            moments[f"all_{goal}"].y
            if f"all_{goal}" in moments
            else money[goal]
            if kind.known is None
            else Moments.of_zeros(visitors)
            for goal, kind in kinds
        ]
        pairs = [
            moments[f"sum_{goal}"] if isinstance(kind, Ratio) else no_pairs(visitors.shape)
            for goal, kind in kinds
        ]
        return Counts(
            visitors=visitors,
            conversions=np.stack(done, axis=1),
            revenue=Moments.stack(money, axis=1),
            values=Moments.stack(values, axis=1),
            observed=np.stack(observed, axis=1),
            so_far=Totals(conversions=np.stack(ever, axis=1), revenue=Moments.stack(all_money, axis=1)),
            ratios=PairedMoments.stack(pairs, axis=1),
        )

    def _quantiles(self, values: Sequence[str], *by: str) -> Iterator[tuple[int, list[Arms]]]:
        """Yield the values of each quantile by value of the column and variant."""
        for goal, kind in enumerate(self.kinds):
            if isinstance(kind, Quantile):
                counted = _as_text(value_counts(self.visitors, goal, *by), *by)
                parts = (counted.filter(segment=value) for value in values)
                yield goal, [buckets_of_arms(part, self.arms) for part in parts]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Sums, a row for each variant and the number `code` of a value, as arrays of values by variants."""

    rows: pl.DataFrame
    values: int
    arms: int

    def _placed(self, array: AnyArray) -> AnyArray:
        placed = np.zeros((self.values, self.arms), array.dtype)
        placed[self.rows["code"].to_numpy(), self.rows["arm"].cast(pl.Int64).to_numpy()] = array
        return placed

    def counts(self, name: str) -> IntArray:
        """Return a column of whole numbers."""
        found: IntArray = self._placed(
            self.rows[name].cast(pl.Float64).fill_null(0.0).to_numpy().astype(np.int64)
        )
        return found

    def moments(self, moments: PairedMoments) -> PairedMoments:
        """Return moments of the rows."""
        return moments.map(self._placed)


def _pairs(kinds: Sequence[FrameGoal]) -> Iterator[tuple[str, Pair]]:
    """Yield the values of each goal that has some, by the name of their column; of a ratio both."""
    for goal, kind in enumerate(kinds):
        if kind.is_share or isinstance(kind, Quantile):
            continue
        below = nw.col(f"orders_{goal}") if isinstance(kind, Ratio) else None
        yield f"sum_{goal}", Pair(nw.col(f"sum_{goal}"), below)
        if isinstance(kind, Revenue) and kind.known is not None:
            yield f"all_{goal}", Pair(nw.col(f"all_{goal}"))


def _as_text(found: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Add the text `segment` of the value of a column, without unknown values; empty without a column."""
    if not by:
        return found.with_columns(segment=pl.lit(""))
    return found.with_columns(segment=pl.col(*by).cast(pl.String)).filter(pl.col("segment") != "")


def _by_value(found: pl.DataFrame, *by: str) -> tuple[list[str], pl.DataFrame]:
    """Number the values of a column in their order, as `code`."""
    rows = _as_text(found, *by)
    values = rows["segment"].unique().sort()
    codes = rows["segment"].replace_strict(values, pl.int_range(len(values), eager=True))
    return values.to_list(), rows.with_columns(code=codes.cast(pl.Int64))
