"""Evidence by segment from a table of sums."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.segments import Counts, Segment, SegmentEvidence
from engine.frames import column_errors
from engine.frames.sums.sum_counts import SumCounts


def count_segments(table: pl.DataFrame, sums: SumCounts, segments: Sequence[str]) -> SegmentEvidence:
    """Add sums up by each value of the columns `segments`; a row without a value is in none of the column."""
    found = list(_by_column(table, sums, segments))
    everyone = sums.by_segment(np.zeros(table.height, np.int64), 1)
    return SegmentEvidence(
        segments=tuple(segment for values, _ in found for segment in values),
        counts=Counts.concatenate([counts for _, counts in found]),
        everyone=everyone[0],
        as_of=sums.days.last if sums.days else None,
    )


def _by_column(
    table: pl.DataFrame, sums: SumCounts, segments: Sequence[str]
) -> Iterator[tuple[list[Segment], Counts]]:
    """Count each value of each column; columns and values in order of their names."""
    for name in sorted(segments):
        column_errors.require_column(name, table.columns)
        texts = table[name].cast(pl.String).replace("", None)
        values = texts.drop_nulls().unique().sort().to_list()
        # Rows without a value get a number of their own, which is left out.
        codes = {value: code for code, value in enumerate(values)}
        numbers = np.array([codes.get(value, len(values)) for value in texts.to_list()], np.int64)
        counted = sums.by_segment(numbers, len(values) + 1)
        yield [Segment(name, value) for value in values], counted[: len(values)]
