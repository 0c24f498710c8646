"""Evidence of goals whose outcomes are known after some days, by the visitors whose days are over."""

from dataclasses import replace

import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.totals import Totals
from engine.design.experiment import Experiment
from engine.local_days import epoch_days
from engine.measures.sums import MONEY
from engine.stats.moments import Moments
from pipeline.results.evidence import revenue_of, values_of_amounts
from pipeline.results.goal_amounts import cells_of


def with_known_outcomes(
    experiment: Experiment, evidence: Evidence, *, cohorts: pl.DataFrame, known: pl.DataFrame
) -> Evidence:
    """Replace what visitors did for these goals by what those with a known outcome did.

    `cohorts` are those of `read_cohorts` and `known` the cells without those of visitors of later days, both
    aligned to the experiment. Totals stay those of all visitors, and so do conversions by day; for retained
    goals both are of visitors with a known outcome, by the day of their first exposure.
    """
    retained = [place for place, goal in enumerate(experiment.goals) if not goal.measure.is_known_at_once]
    open_goals = [place for place, goal in enumerate(experiment.goals) if goal.known_after is not None]
    conversions, by_day = evidence.conversions.copy(), evidence.daily.conversions.copy()
    observed = np.broadcast_to(evidence.visitors, conversions.shape).copy()
    for counts in (conversions, observed):
        counts[open_goals] = 0
    by_day[:, retained] = 0
    counted = cohorts.filter(pl.col("variant") < len(experiment.variants))
    place = counted["goal"].to_numpy(), counted["variant"].to_numpy()
    np.add.at(observed, place, counted["observed"].to_numpy())
    np.add.at(conversions, place, counted["conversions"].to_numpy())
    of_retained = counted.filter(pl.col("goal").is_in(retained))
    days = {epoch_days(day): row for row, day in enumerate(evidence.daily.days)}
    rows = np.array([days[day] for day in of_retained["day"].to_list()], np.int64)
    cells = rows, of_retained["goal"].to_numpy(), of_retained["variant"].to_numpy()
    np.add.at(by_day, cells, of_retained["conversions"].to_numpy())
    everyone = evidence.conversions.copy()
    everyone[retained] = conversions[retained]
    sums = known.filter(pl.col("variant") < len(experiment.variants))
    revenue = revenue_of(cells_of(sums, MONEY), observed)
    is_revenue = np.array([[goal.unit == "cents"] for goal in experiment.goals], bool)
    plain = Moments.where(is_revenue, revenue, Moments.of_shares(conversions, observed))
    return replace(
        evidence,
        conversions=conversions,
        observed=observed,
        revenue=revenue,
        so_far=Totals(conversions=everyone, revenue=evidence.revenue),
        daily=replace(evidence.daily, conversions=by_day),
        values=values_of_amounts(experiment, sums, plain),
    )
