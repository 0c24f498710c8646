"""Distinct visitors of a project over all of its experiments, and those of one by sender and address."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.visitors import result_table

_MINUTE_US: Final = 60_000_000


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
        SELECT greatest(moment_us // {_MINUTE_US:d}, $first - 1) AS minute, sum(visitors), sum(converted)
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


# Beyond so many visitors of an experiment, this many of them are counted, so that a read takes no longer.
SAMPLED_VISITORS: Final = 1_000_000


class VisitorsBySender(NamedTuple):
    """Visitors of an experiment by the SENDER_BITS of their first exposure, estimated from a sample.

    `busiest` is the sender of the network address with most visitors, and their number; None without one.
    `peaks` are by sender: most visitors in a minute, all visitors, and minutes from the first to the last.
    """

    visitors: dict[int, float]
    busiest: tuple[int, float] | None
    peaks: dict[int, tuple[float, float, int]]


class Extreme(NamedTuple):
    """Visitors with negative cents of a goal, or one with the most, by position, and SENDER_BITS of money."""

    goal: int
    variant: int
    senders: int
    visitors: int
    cents: int


def count_by_sender(cursor: Cursor, experiment_id: str, seed: int) -> VisitorsBySender:
    """Count visitors by sender, minute and address; `seed` chooses the sample where they are many."""
    table = result_table("visitors", experiment_id)
    ((everyone,),) = cursor.execute(f"SELECT count(*) FROM {table}").fetchall()
    step = max(-(-everyone // SAMPLED_VISITORS), 1)
    # A sample that strangers could foretell would be one that they could avoid.
    sampled = table if step == 1 else f"(FROM {table} WHERE hash(visitor_key, {seed:d}) % {step:d} = 0)"
    busiest = cursor.execute(
        f"""
        SELECT exposure_sender, count(*) FROM {sampled} WHERE address_key IS NOT NULL
        GROUP BY exposure_sender, address_key ORDER BY count(*) DESC, exposure_sender LIMIT 1
        """
    ).fetchall()
    by_minute = f"""
        SELECT exposure_sender, first_exposed_at // {_MINUTE_US:d} AS minute, count(*) AS visitors
        FROM {sampled} GROUP BY ALL
    """
    peaks = cursor.execute(
        f"""
        SELECT exposure_sender, max(visitors), sum(visitors)::BIGINT, max(minute) - min(minute) + 1
        FROM ({by_minute}) GROUP BY exposure_sender ORDER BY exposure_sender
        """
    ).fetchall()
    return VisitorsBySender(
        visitors={sender: total * step for sender, _, total, _ in peaks},
        busiest=next(((sender, count * step) for sender, count in busiest), None),
        peaks={sender: (most * step, total * step, minutes) for sender, most, total, minutes in peaks},
    )


def read_overdrawn(
    cursor: Cursor, experiment_id: str, goals: Sequence[int], *, variants: int
) -> list[Extreme]:
    """Sum up the visitors with more refunds than orders, by goal, variant and senders of their money."""
    if not goals:
        return []
    counted = f"{result_table('visitors', experiment_id)} WHERE variant < {variants:d}"
    # Mostly there are none, which one pass over all goals tells.
    least = cursor.execute(f"SELECT {_of_each(goals, 'min({cents})')} FROM {counted}").fetchall()[0]
    parts = [
        f"""
        SELECT {goal:d}, variant, money_senders, count(*), sum(g{goal:d}_cents)::BIGINT
        FROM {counted} AND g{goal:d}_cents < 0 GROUP BY variant, money_senders
        """
        for goal, cents in zip(goals, least, strict=True)
        if cents is not None and cents < 0
    ]
    rows = cursor.execute(" UNION ALL ".join(parts)).fetchall() if parts else []
    return [Extreme(*map(int, row)) for row in rows]


def read_largest(cursor: Cursor, experiment_id: str, goals: Sequence[int], *, variants: int) -> list[Extreme]:
    """Find the visitor with the largest revenue of each goal and variant."""
    if not goals:
        return []
    rows = cursor.execute(
        f"""
        SELECT variant, {_of_each(goals, "arg_max(money_senders, {cents}), max({cents})")}
        FROM {result_table("visitors", experiment_id)} WHERE variant < {variants:d} GROUP BY variant
        """
    ).fetchall()
    return [
        Extreme(goal, int(variant), int(senders), 1, int(cents))
        for variant, *found in rows
        for goal, senders, cents in zip(goals, found[::2], found[1::2], strict=True)
    ]


def _of_each(goals: Sequence[int], columns: str) -> str:
    return ", ".join(columns.format(cents=f"g{goal:d}_cents") for goal in goals)
