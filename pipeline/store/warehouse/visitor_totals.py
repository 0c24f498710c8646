"""Distinct visitors of a project over all of its experiments: by minute, kept beside its results.

A visitor is in the minute of the last first exposure in any experiment, and of the last first conversion on
the primary goal of any. Changes are rows beside those before them, which reads add up.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.extremes import MINUTE_US
from pipeline.store.warehouse.visitors import TABLES_AT_ONCE, result_table

# The experiments that are counted, each with the position of its primary goal.
_EXPERIMENTS: Final = "totalled_experiments"
_MOMENTS: Final = {"visitor_key": pl.UInt64, "exposed_at": pl.Int64, "converted_at": pl.Int64}
Goals = Mapping[str, int | None]


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


def read(cursor: Cursor, project_id: str, *, first: int) -> Totals | None:
    """Add up what is kept, recent from the minute `first` on; None where nothing is kept."""
    table = _table(project_id)
    if not table_exists(cursor, table.strip('"')):
        return None
    return _add_up(cursor, f"FROM {table}", first)


def count(cursor: Cursor, experiments: Sequence[CountedExperiment], *, first: int) -> Totals:
    """Count all visitor rows, recent from the minute `first` on."""
    return _add_up(cursor, f"FROM ({_minutes_of(experiments)})", first) if experiments else Totals()


def _add_up(cursor: Cursor, minutes: str, first: int) -> Totals:
    both = ("visitors", "converted")
    sums = [f"sum({name}){{}}" for name in both]
    recent = f" FILTER (minute >= {first:d})"
    columns = ", ".join(f"coalesce({one.format(of)}, 0)::BIGINT" for of in ("", recent) for one in sums)
    return Totals(*cursor.execute(f"SELECT {columns} {minutes}").fetchall()[0])


def read_goals(cursor: Cursor, project_id: str) -> Goals | None:
    """Return the counted experiments with the positions of their primary goals; None if nothing is kept."""
    if not table_exists(cursor, _table(project_id).strip('"')):
        return None
    query = f"SELECT experiment_id, primary_goal FROM {_EXPERIMENTS} WHERE project_id = ?"
    return dict(cursor.execute(query, [project_id]).fetchall())


def replace(cursor: Cursor, project_id: str, experiments: Sequence[CountedExperiment]) -> None:
    """Count all visitor rows of experiments, and keep the sums."""
    forget(cursor, project_id)
    cursor.execute(
        f"CREATE OR REPLACE TABLE {_table(project_id)} (minute INTEGER, visitors BIGINT, converted BIGINT)"
    )
    if experiments:
        cursor.execute(f"INSERT INTO {_table(project_id)} {_minutes_of(experiments)} ORDER BY minute")
    add_experiments(cursor, project_id, experiments)


def add_experiments(cursor: Cursor, project_id: str, experiments: Iterable[CountedExperiment]) -> None:
    """Note that experiments are counted, too, none of whose visitors is in the sums yet."""
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS {_EXPERIMENTS} "
        "(project_id VARCHAR, experiment_id VARCHAR, primary_goal INTEGER)"
    )
    rows = [(project_id, one.experiment_id, one.primary_goal) for one in experiments]
    schema = {"project_id": pl.String, "experiment_id": pl.String, "primary_goal": pl.Int32}
    added = FrameStream(pl.DataFrame(rows, schema, orient="row"))  # noqa: F841
    cursor.execute(f"INSERT INTO {_EXPERIMENTS} BY NAME FROM added")


def add(cursor: Cursor, project_id: str, minutes: pl.DataFrame) -> None:
    """Add changes of sums: `visitors` and `converted` of each `minute`."""
    if minutes.height:
        added = FrameStream(minutes)  # noqa: F841
        cursor.execute(f"INSERT INTO {_table(project_id)} BY NAME FROM added")


def forget(cursor: Cursor, project_id: str) -> None:
    """Keep nothing of a project any more."""
    cursor.execute(f"DROP TABLE IF EXISTS {_table(project_id)}")
    if table_exists(cursor, _EXPERIMENTS):
        cursor.execute(f"DELETE FROM {_EXPERIMENTS} WHERE project_id = ?", [project_id])


def read_moments(
    cursor: Cursor, experiments: Sequence[CountedExperiment], visitor_keys: pl.Series
) -> pl.DataFrame:
    """Read `exposed_at` and `converted_at` of the rows of some visitors, by `visitor_key`."""
    parts = [f"{_visitors_of(one)} AND visitor_key IN (FROM sought)" for one in experiments]
    groups = (parts[first : first + TABLES_AT_ONCE] for first in range(0, len(parts), TABLES_AT_ONCE))
    with registered(cursor, "sought", visitor_keys.alias("visitor_key").to_frame()):
        found = [fetch_frame(cursor, " UNION ALL ".join(group)) for group in groups]
    return pl.concat([pl.DataFrame(schema=_MOMENTS), *found])


def _table(project_id: str) -> str:
    return result_table("visitor_minutes", project_id)


def _minutes_of(experiments: Collection[CountedExperiment]) -> str:
    """Build the query of distinct visitors, and of those who converted, by minutes since 1970."""
    return f"""
        SELECT (moment_us // {MINUTE_US:d})::INTEGER AS minute, sum(visitors)::BIGINT AS visitors,
          sum(converted)::BIGINT AS converted
        FROM (
          SELECT unnest([max(exposed_at), max(converted_at)]) AS moment_us,
            unnest([1, 0]) AS visitors, unnest([0, 1]) AS converted
          FROM ({" UNION ALL ".join(map(_visitors_of, experiments))}) GROUP BY visitor_key
        )
        WHERE moment_us IS NOT NULL GROUP BY minute
    """


def _visitors_of(experiment: CountedExperiment) -> str:
    goal = experiment.primary_goal
    # Higher numbers mark visitors counted in no variant.
    return f"""
        SELECT visitor_key, first_exposed_at AS exposed_at,
          {"NULL::BIGINT" if goal is None else f"g{goal}_at"} AS converted_at
        FROM {result_table("visitors", experiment.experiment_id)} WHERE variant < {experiment.variants:d}
    """
