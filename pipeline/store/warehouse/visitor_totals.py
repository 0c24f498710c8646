"""Distinct visitors of a project over all of its experiments."""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.extremes import MINUTE_US
from pipeline.store.warehouse.visitors import result_table


class CountedExperiment(NamedTuple):
    """Experiment with published results: the number of its variants, and its primary goal's position."""

    experiment_id: str
    variants: int
    primary_goal: int | None


def read_minutes(
    cursor: Cursor, experiments: Sequence[CountedExperiment], *, first: int
) -> tuple[list[int], list[int], list[int]]:
    """Count the distinct visitors of experiments by minutes since 1970, and those who converted.

    The minute is that of the last first exposure, or conversion, in any experiment; all that are earlier
    than `first` are in the one before it.
    """
    if not experiments:
        return [], [], []
    rows = cursor.execute(
        f"""
        WITH everyone AS (
          SELECT max(exposed_at) AS exposed_at, max(converted_at) AS converted_at
          FROM ({" UNION ALL ".join(map(_visitors_of, experiments))}) GROUP BY visitor_key
        ),
        moments AS (
          SELECT exposed_at AS moment_us, 1 AS visitors, 0 AS converted FROM everyone
          UNION ALL SELECT converted_at, 0, 1 FROM everyone WHERE converted_at IS NOT NULL
        )
        SELECT greatest(moment_us // {MINUTE_US:d}, $first - 1) AS minute, sum(visitors), sum(converted)
        FROM moments GROUP BY minute
        """,
        {"first": first},
    ).fetchall()
    minutes, visitors, converted = zip(*rows, strict=True) if rows else ((), (), ())
    return list(minutes), list(visitors), list(converted)


def _visitors_of(experiment: CountedExperiment) -> str:
    goal = experiment.primary_goal
    # Higher numbers mark visitors counted in no variant.
    return f"""
        SELECT visitor_key, first_exposed_at AS exposed_at,
          {"NULL::BIGINT" if goal is None else f"g{goal}_at"} AS converted_at
        FROM {result_table("visitors", experiment.experiment_id)} WHERE variant < {experiment.variants:d}
    """
