"""Visitors of a holdout: those, with all visitors of their users, who were not seen before it began."""

from collections.abc import Mapping, Sequence

import polars as pl

from engine.design.experiment import Experiment
from engine.local_days import epoch_microseconds


def starts_of_holdouts(experiments: Sequence[Experiment]) -> dict[int, int]:
    """Map the numbers of holdouts among experiments to their starts, in microseconds since 1970."""
    return {
        number: epoch_microseconds(one.started_at)
        for number, one in enumerate(experiments)
        if one.is_holdout and one.started_at is not None
    }


def without_seen_before(
    firsts: pl.DataFrame, sights: pl.DataFrame, starts: Mapping[int, int]
) -> pl.DataFrame:
    """Leave out first exposures to holdouts of visitors with an event from before the start.

    `sights` has the `first_seen_at` of visitors, joined by their users as the rows of `firsts` are.
    """
    seen = sights.group_by("visitor_key").agg(pl.col("first_seen_at").min())
    number = pl.col("experiment")
    start = number.replace_strict(starts, default=None, return_dtype=pl.Int64)
    joined = firsts.join(seen, on="visitor_key", how="left", maintain_order="left")
    return joined.filter((pl.col("first_seen_at") < start).fill_null(value=False).not_()).drop(
        "first_seen_at"
    )
