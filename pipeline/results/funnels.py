"""Visitors at each step of funnels, from counts of the steps that visitors reached."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.funnels import FunnelEvidence
from engine.design.experiment import Experiment
from pipeline.results.evidence import positions
from pipeline.rollup.goals.counted_goals import step_names
from pipeline.store.warehouse.extremes import STEPS
from pipeline.store.warehouse.value_sums import StepCount


def funnels_of(
    experiment: Experiment,
    counts: Mapping[int, Iterable[StepCount]],
    *,
    variants: Sequence[str],
    goals: Sequence[str],
) -> dict[int, FunnelEvidence]:
    """Arrange the counts of goals by the rows of the experiment's.

    `variants` and `goals` are the counted ids by position. Goals without counts are left out.
    """
    columns = positions(variants, [variant.id for variant in experiment.variants])
    of_goals = {goals[place]: of_goal for place, of_goal in counts.items()}
    return {
        row: _funnel_of(step_names(goal), of_goals[goal.id], columns, len(experiment.variants))
        for row, goal in enumerate(experiment.goals)
        if "steps" in goal.measure.columns and goal.id in of_goals
    }


def steps_of(kept: pl.DataFrame, goals: Collection[int]) -> dict[int, list[StepCount]]:
    """Take what `read_steps` counts in all visitor rows from the extremes that are kept."""
    counted = kept.filter((pl.col("kind") == STEPS) & pl.col("goal").is_in(list(goals)))
    of_steps = counted.group_by("goal", "variant", "number").agg(pl.col("size").sum())
    found: dict[int, list[StepCount]] = {goal: [] for goal in goals}
    for goal, *counts in of_steps.filter(pl.col("size") > 0).rows():
        found[goal].append(StepCount(*counts))
    return found


def _funnel_of(
    names: tuple[str, ...], counts: Iterable[StepCount], columns: Mapping[int, int], width: int
) -> FunnelEvidence:
    """Arrange the counts of a funnel, each in the column of its variant."""
    visitors = np.zeros((len(names), width), np.int64)
    for one in counts:
        if (column := columns.get(one.variant)) is not None:
            # A step counts only after all steps before it.
            visitors[: one.steps, column] += one.visitors
    return FunnelEvidence(names, visitors)
