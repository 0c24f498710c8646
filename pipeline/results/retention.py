"""Evidence of retained goals, by the visitors whose days are over."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment
from engine.local_days import epoch_days
from engine.stats.moments import Moments


def with_retention(experiment: Experiment, evidence: Evidence, cohorts: pl.DataFrame) -> Evidence:
    """Replace the conversions of retained goals by those of visitors with a known outcome.

    `cohorts` are those of `read_cohorts`, aligned to the experiment. By day, conversions are those of the
    visitors first exposed on it.
    """
    retained = [place for place, goal in enumerate(experiment.goals) if not goal.measure.is_known_at_once]
    if not retained:
        return evidence
    conversions, by_day = evidence.conversions.copy(), evidence.daily.conversions.copy()
    observed = np.broadcast_to(evidence.visitors, conversions.shape).copy()
    for counts in (conversions, observed):
        counts[retained] = 0
    by_day[:, retained] = 0
    known = cohorts.filter(pl.col("variant") < len(experiment.variants))
    place = known["goal"].to_numpy(), known["variant"].to_numpy()
    np.add.at(observed, place, known["observed"].to_numpy())
    np.add.at(conversions, place, known["conversions"].to_numpy())
    days = {epoch_days(day): row for row, day in enumerate(evidence.daily.days)}
    rows = np.array([days[day] for day in known["day"].to_list()], np.int64)
    np.add.at(by_day, (rows, *place), known["conversions"].to_numpy())
    return replace(
        evidence,
        conversions=conversions,
        observed=observed,
        daily=replace(evidence.daily, conversions=by_day),
        values=_with_shares(evidence.values, retained, Moments.of_shares(conversions, observed)),
    )


def _with_shares(values: VisitorValues | None, goals: Sequence[int], shares: Moments) -> VisitorValues | None:
    if values is None:
        return None
    parts = [
        VisitorValues.of(shares[place : place + 1]) if place in goals else values[place : place + 1]
        for place in range(len(shares.n))
    ]
    return VisitorValues.concatenate(parts)
