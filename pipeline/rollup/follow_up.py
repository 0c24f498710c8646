"""Sums by day of first exposure and days since, as visitors followed from their exposure on."""

import polars as pl

from engine.analysis.comparison.metrics import primary_row
from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.design.experiment import Experiment


def follow_up_of(
    experiment: Experiment, cells: pl.DataFrame, later: pl.DataFrame, *, today: int
) -> FollowUp | None:
    """Follow the visitors of `cells` up to the day before `today`, which is not over; None without a goal.

    `cells` are those of everyone, and `later` of `aggregates.read_since_exposure`; both by the positions of
    the experiment's own variants and goals.
    """
    goal, variants = primary_row(experiment), len(experiment.variants)
    if goal is None:
        return None
    came = cells.filter(pl.col("goal").is_null() & (pl.col("variant") < variants))
    converted = later.filter((pl.col("goal") == goal) & (pl.col("variant") < variants))
    return FollowUp.of_counts(
        [came[name].to_numpy() for name in ("day", "variant", "visitors")],
        [converted[name].to_numpy() for name in ("day", "days_since", "variant", "conversions")],
        variants=variants,
        today=today,
    )
