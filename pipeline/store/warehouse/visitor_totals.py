"""Distinct visitors of a project over all of its experiments."""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.visitors import result_table


class CountedExperiment(NamedTuple):
    """Experiment with published results: the number of its variants, and its primary goal's position."""

    experiment_id: str
    variants: int
    primary_goal: int | None


class Totals(NamedTuple):
    """Distinct visitors, those who converted on a primary goal, and the recent ones of both."""

    visitors: int = 0
    converted: int = 0
    recent_visitors: int = 0
    recently_converted: int = 0


def read_totals(cursor: Cursor, experiments: Sequence[CountedExperiment], *, since_us: int) -> Totals:
    """Count the visitors of experiments; recent is at or after `since_us` (microseconds since 1970)."""
    if not experiments:
        return Totals()
    rows = cursor.execute(
        f"""
        SELECT count(*), count(converted_at),
          count(*) FILTER (exposed_at >= $since), count(*) FILTER (converted_at >= $since)
        FROM (
          SELECT visitor_key, max(exposed_at) AS exposed_at, max(converted_at) AS converted_at
          FROM ({" UNION ALL ".join(map(_visitors_of, experiments))}) GROUP BY visitor_key
        )
        """,
        {"since": since_us},
    ).fetchall()
    return Totals(*rows[0])


def _visitors_of(experiment: CountedExperiment) -> str:
    goal = experiment.primary_goal
    # Higher numbers mark visitors counted in no variant.
    return f"""
        SELECT visitor_key, first_exposed_at AS exposed_at,
          {"NULL::BIGINT" if goal is None else f"g{goal}_at"} AS converted_at
        FROM {result_table("visitors", experiment.experiment_id)} WHERE variant < {experiment.variants:d}
    """
