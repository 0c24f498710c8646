"""Segments in rows of a DataFrame: every visitor counted by each value of each column."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.segment_quantiles import Arms, SegmentQuantiles
from engine.analysis.evidence.segments import Counts, Segment, SegmentEvidence
from engine.analysis.evidence.totals import Totals
from engine.analysis.evidence.visitor_values import no_pairs
from engine.frames.counts import moment, quantile_buckets
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile, Ratio, Revenue
from engine.frames.rows import Columns
from engine.frames.visitors import by_visitor, of_one_variant, with_codes
from engine.stats.arrays import AnyArray, BoolArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


def count_segments_of_rows(rows: pl.DataFrame, columns: Columns, arms: Sequence[str]) -> SegmentEvidence:
    """Count every visitor of one variant in the segments of the first row."""
    kinds = list(columns.goals.values())
    done, _ = of_one_variant(by_visitor(with_codes(rows, arms), kinds))
    texts = [f"segment_{place}" for place in range(len(columns.segments))]
    # Rows with equal times keep the order of the frame.
    first = rows.sort("at", maintain_order=True).group_by("visitor").agg(pl.col(texts).first())
    visitors = done.join(first, on="visitor")
    everyone = _counts(visitors, np.zeros(visitors.height, np.int64), 1, len(arms), kinds)
    found = list(_by_column(visitors, columns, len(arms), kinds))
    quantiles = {
        goal: SegmentQuantiles(
            kind.q,
            tuple(_arms(one, goal, len(arms)) for _, _, parts in found for one in parts),
            _arms(visitors, goal, len(arms)),
        )
        for goal, kind in enumerate(kinds)
        if isinstance(kind, Quantile)
    }
    counts = Counts.concatenate([*(counts for _, counts, _ in found), everyone]).with_quantiles(quantiles)
    return SegmentEvidence(
        segments=tuple(segment for segments, _, _ in found for segment in segments),
        counts=counts[:-1],
        everyone=counts[-1],
        as_of=moment(rows["at"].max()),
        quantiles=quantiles,
    )


def _arms(visitors: pl.DataFrame, goal: int, variants: int) -> Arms:
    """Count the values of a quantile of some visitors, by variant."""
    values = (
        visitors.filter(pl.col("variant") == variant)[f"sum_{goal}"].drop_nulls()
        for variant in range(variants)
    )
    return tuple(map(quantile_buckets, values))


def _by_column(
    visitors: pl.DataFrame, columns: Columns, variants: int, kinds: Sequence[FrameGoal]
) -> Iterator[tuple[list[Segment], Counts, list[pl.DataFrame]]]:
    """Count each value of each column; columns and values in order of their names, with their visitors."""
    for place in np.argsort(np.array(columns.segments), kind="stable").tolist():
        known = visitors.drop_nulls(f"segment_{place}")
        values = known[f"segment_{place}"].unique().sort()
        codes = known[f"segment_{place}"].replace_strict(values, pl.int_range(len(values), eager=True))
        counts = _counts(known, codes.cast(pl.Int64).to_numpy(), len(values), variants, kinds)
        parts = known.sort(f"segment_{place}").partition_by(f"segment_{place}", maintain_order=True)
        yield [Segment(columns.segments[place], value) for value in values.to_list()], counts, parts


def _counts(
    visitors: pl.DataFrame, codes: IntArray, values: int, variants: int, kinds: Sequence[FrameGoal]
) -> Counts:
    """Count visitors by value, variant and goal; `codes` has the number of each visitor's value."""
    cells, size = codes * variants + visitors["variant"].to_numpy(), values * variants
    nothing, everyone = np.zeros(visitors.height), np.ones(visitors.height, bool)
    known = [
        everyone if kind.known is None else visitors[f"known_{goal}"].to_numpy() == 1
        for goal, kind in enumerate(kinds)
    ]
    done = [visitors[f"done_{goal}"].to_numpy() for goal in range(len(kinds))]
    amounts = [
        nothing if kind.is_share or isinstance(kind, Quantile) else visitors[f"sum_{goal}"].to_numpy()
        for goal, kind in enumerate(kinds)
    ]

    def hits(taken: Sequence[BoolArray]) -> IntArray:
        found = [np.bincount(cells[one & who], minlength=size) for one, who in zip(done, taken, strict=True)]
        return np.stack(found).reshape(shape).swapaxes(0, 1)

    def metrics(taken: Sequence[BoolArray]) -> list[Moments]:
        both = zip(amounts, taken, strict=True)
        return [Moments.of_groups(each[who], cells[who], size) for each, who in both]

    def revenue(taken: Sequence[BoolArray]) -> Moments:
        money = [
            one if isinstance(kind, Revenue) else Moments.of_groups(nothing[who], cells[who], size)
            for one, kind, who in zip(metrics(taken), kinds, taken, strict=True)
        ]
        return Moments.stack(money).map(arranged)

    shape = (len(kinds), values, variants)

    def arranged(part: AnyArray) -> AnyArray:
        return part.reshape(shape).swapaxes(0, 1)

    return Counts(
        visitors=np.bincount(cells, minlength=size).reshape(values, variants),
        conversions=hits(known),
        revenue=revenue(known),
        values=Moments.stack(metrics(known)).map(arranged),
        observed=np.stack([np.bincount(cells[who], minlength=size) for who in known])
        .reshape(shape)
        .swapaxes(0, 1),
        so_far=Totals(conversions=hits([everyone] * len(kinds)), revenue=revenue([everyone] * len(kinds))),
        ratios=PairedMoments.stack(
            [
                _pairs(visitors.filter(known[goal]), goal, kind, cells[known[goal]], size)
                for goal, kind in enumerate(kinds)
            ]
        ).map(arranged),
    )


def _pairs(visitors: pl.DataFrame, goal: int, kind: FrameGoal, cells: IntArray, size: int) -> PairedMoments:
    """Pair the denominator of a ratio with its numerator, by cell; other goals have no pairs."""
    if not isinstance(kind, Ratio):
        return no_pairs((size,))
    below = visitors[f"orders_{goal}"].fill_null(0.0).to_numpy()
    return PairedMoments.of_groups(below, visitors[f"sum_{goal}"].to_numpy(), cells, size)
