"""How many people a project's experiments have counted: whoever is in several of them is one."""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.visitors import result_table


class CountedExperiment(NamedTuple):
    """An experiment with published results: its variants, and the position of its primary goal if any."""

    experiment_id: str
    variants: int
    primary_goal: int | None


class Totals(NamedTuple):
    """Visitors; those who reached a primary goal; those first seen, and first converted, lately."""

    visitors: int = 0
    converted: int = 0
    recent_visitors: int = 0
    recently_converted: int = 0


def read_totals(cursor: Cursor, experiments: Sequence[CountedExperiment], *, since_us: int) -> Totals:
    """Count the visitors of those experiments; lately is at or after `since_us`."""
    if not experiments:
        return Totals()
    rows = cursor.execute(
        f"""
        SELECT count(*), count(done_at),
          count(*) FILTER (seen_at >= $since), count(*) FILTER (done_at >= $since)
        FROM (
          SELECT visitor_key, max(seen_at) AS seen_at, max(done_at) AS done_at
          FROM ({" UNION ALL ".join(map(_seen_in, experiments))}) GROUP BY visitor_key
        )
        """,
        {"since": since_us},
    ).fetchall()
    return Totals(*rows[0])


def _seen_in(experiment: CountedExperiment) -> str:
    goal = experiment.primary_goal
    # Beyond the variants are visitors who are set aside.
    return f"""
        SELECT visitor_key, first_exposed_at AS seen_at,
          {"NULL::BIGINT" if goal is None else f"g{goal}_at"} AS done_at
        FROM {result_table("visitors", experiment.experiment_id)} WHERE variant < {experiment.variants:d}
    """
