"""Evidence of experiments that compare units, such as accounts: their number, and the sums of each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from engine.analysis.evidence.cluster_sums import ClusterSums, design_effect_of, values_of_clusters
from engine.analysis.evidence.clusters import ClusterEvidence
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.units import unit_name, unit_noun
from engine.measures.sums import unit_of
from pipeline.results.evidence import positions
from pipeline.results.visitor_values import covariates_of
from pipeline.rollup.counting_rules import SEVERAL_UNITS, WITHOUT_UNIT
from pipeline.rollup.goals.summed_goals import adjusted_goals, all_goals
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.unit_sums import SUMS, UnitSums, count_mixed_units


def with_units(  # noqa: PLR0913, PLR0917  # what an observation has
    visitors: SelectedVisitors,
    experiment: Experiment,
    published: Published,
    evidence: Evidence,
    cells: pl.DataFrame,
    last_days: Mapping[int, int],
) -> Evidence:
    """Replace the values of visitors by those of their units, and leave out what compares visitors.

    `cells` are the sums of these visitors, aligned to the experiment, and
    `last_days` those of first exposures up to which outcomes are known, by the goal's position.
    """
    mixed = count_mixed_units(visitors)
    columns = positions(published.variants, [one.id for one in experiment.variants])
    goals = all_goals(experiment, published.goals)
    with UnitSums.open(visitors, goals, last_days=last_days) as sums:
        by_goal = [_sums_of(experiment, goal, published.goals, sums, columns) for goal in experiment.goals]
        counts = sums.count()
    values = VisitorValues.concatenate([values_of_clusters(arms) for arms in by_goal])
    alike = np.array([design_effect_of(arms) for arms in by_goal])
    total = np.zeros(len(experiment.variants), np.int64)
    for place, found in counts.items():
        if place in columns:
            total[columns[place]] = found
    return replace(
        evidence,
        values=values,
        covariates=covariates_of(experiment, values),
        several_variants=mixed.units,
        identity_conflicts=0,
        largest=None,
        clusters=ClusterEvidence(
            by=unit_name(experiment.unit),
            noun=unit_noun(experiment.unit),
            total=total,
            known=np.array([[len(arm.n) for arm in arms] for arms in by_goal], np.int64),
            visitors_of_several=mixed.visitors,
            in_several=_marked(cells, SEVERAL_UNITS),
            in_none=_marked(cells, WITHOUT_UNIT),
            design_effect=alike[:, 0],
            correlation=alike[:, 1],
        ),
    )


def _sums_of(
    experiment: Experiment, goal: Goal, counted: Sequence[str], sums: UnitSums, columns: Mapping[int, int]
) -> list[ClusterSums]:
    """Arrange the sums of a goal by variant, in units of its measure; none where it is not counted yet."""
    rows = pl.DataFrame(schema=dict.fromkeys(("variant", *SUMS), pl.Float64))
    centre = None
    if goal.id in counted:
        place = counted.index(goal.id)
        rows = sums.of_goal(place)
        centre = sums.mean_before(place) if goal.id in adjusted_goals(experiment, counted) else None
    parts = {column: rows.filter(pl.col("variant") == place) for place, column in columns.items()}
    empty = rows.clear()
    return [_in_units(goal, parts.get(place, empty), centre) for place in range(len(experiment.variants))]


def _in_units(goal: Goal, rows: pl.DataFrame, centre: float | None) -> ClusterSums:
    n, y, d, z, yy, dy, dd = (rows[name].to_numpy() for name in SUMS)
    unit = float(unit_of(goal.summed) or 1)
    below = float(unit_of(goal.divided_by) or 1)
    ratio = d / below, dy.sum() / below, dd.sum() / below**2
    x, xy, xx = ratio if goal.measure.is_ratio else (n, y.sum(), n.sum())
    return ClusterSums(
        n=n,
        x=x,
        y=y / unit,
        z=None if centre is None else (z - centre * n) / unit,
        xx=float(xx),
        xy=float(xy) / unit,
        yy=float(yy.sum()) / unit**2,
    )


def _marked(cells: pl.DataFrame, mark: int) -> int:
    return int(cells.filter(pl.col("variant") == mark)["visitors"].sum())
