"""Observations of an experiment before they are counted: rows, a lazy table, or a table of sums."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import Evidence
from engine.errors import EngineError, InvalidEvidenceError
from engine.frames.column_errors import MOST_TOGETHER
from engine.frames.counts import count
from engine.frames.epochs import WeightEpochs, require_goals_of_epochs, with_epochs
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Funnel, Quantile
from engine.frames.lazy.engine_queries import Table, can_order_steps, is_engine_table
from engine.frames.lazy.lazy_counts import count_lazy
from engine.frames.lazy.lazy_funnels import are_steps_comparable
from engine.frames.lazy.lazy_rows import lazy_rows
from engine.frames.part_sums import Part, add_up
from engine.frames.row_parts import parts_of
from engine.frames.rows import Columns, read_rows, table_of
from engine.frames.seen import Seen, seen_in
from engine.frames.sums.sum_table import SumTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Observations, and the function that counts them by variants in a given order."""

    seen: Seen
    count: Callable[[Sequence[str]], Evidence]


def observe(
    df: Any,  # noqa: ANN401  # any frame that narwhals supports
    columns: Columns,
    *,
    timezone: str,
    weight_epochs: WeightEpochs = (),
) -> Observations:
    """Read rows; those of a database or a cluster are left there and counted by its engine.

    The named columns of such a table are fetched where these sums do not suffice: for categories of visitors
    with several rows without times, funnels of steps of several types, quantiles of events, clusters and
    weight epochs, and for times that are text.
    Raises InvalidEvidenceError as `read_rows` does.
    """
    if len(weight_epochs):
        require_goals_of_epochs(columns.goals)
    table = table_of(df)
    if is_engine_table(table) and not len(weight_epochs) and are_sums_enough(table, columns):
        return _observe_lazy(table, columns, timezone)
    if not len(weight_epochs) and _are_parts_enough(columns):
        observed = _observe_parts(df, columns, timezone)
        if observed is not None:
            return observed
    rows = read_rows(df, columns)

    def count_by(variants: Sequence[str]) -> Evidence:
        def count_rows(some: pl.DataFrame) -> Evidence:
            return count(
                some,
                variants=variants,
                goals=columns.goals,
                timezone=timezone,
                is_distinct=columns.visitor is None,
                cluster=columns.cluster,
            ).evidence

        observed = count_rows(rows)
        return with_epochs(observed, rows, weight_epochs, variants=variants, count=count_rows)

    return Observations(seen=seen_in(rows), count=count_by)


def observe_sums(sums: Any, columns: Columns, *, timezone: str) -> Observations:  # noqa: ANN401  # as `observe`
    """Read a table of sums; `timestamp` names its column of days. Raises InvalidEvidenceError."""
    table = SumTable.of(sums, columns, timezone=timezone)
    return Observations(seen=table.seen, count=lambda variants: table.count(variants).evidence())


def require_one_source(df: object, sums: object, weight_epochs: WeightEpochs, cluster: object = None) -> None:
    """Raise InvalidEvidenceError unless one of a data frame and a table of sums is given, that one whole."""
    if (df is None) == (sums is None):
        raise InvalidEvidenceError("give either a data frame of rows or a table of sums")
    if sums is not None and len(weight_epochs):
        raise InvalidEvidenceError("sums have no times of visitors: leave out weight_epochs")
    if sums is not None and cluster is not None:
        raise InvalidEvidenceError(
            "sums by variant do not tell clusters apart: give rows, or leave out cluster"
        )


def _observe_lazy(table: Table, columns: Columns, timezone: str) -> Observations:
    rows = lazy_rows(table, columns)
    return Observations(
        seen=rows.seen,
        count=lambda variants: count_lazy(rows, variants=variants, goals=columns.goals, timezone=timezone),
    )


def _observe_parts(df: Any, columns: Columns, timezone: str) -> Observations | None:  # noqa: ANN401  # as `observe`
    """Count rows part by part; None where something is wrong with them, which is said of all together."""
    try:
        parts = [Part.of(rows, columns, timezone) for rows in parts_of(df, columns)]
    except EngineError:
        return None
    if not parts or (np.sum([part.totals for part in parts], axis=0) >= MOST_TOGETHER).any():
        return None
    seen = [part.seen for part in parts]
    return Observations(seen=Seen.together(seen), count=partial(add_up, parts))


def are_sums_enough(table: Table, columns: Columns) -> bool:
    """Tell whether sums of the table say all that the columns are needed for.

    A category and a segment are those of the first of several rows, which only times tell.
    """
    schema = table.collect_schema()
    if columns.cluster is not None:
        return False
    if columns.timestamp is not None and schema.get(columns.timestamp) == nw.String:
        return False
    has_first = columns.visitor is None or columns.timestamp is not None
    if columns.segments and not (has_first and all(name in schema for name in columns.segments)):
        return False
    if any(isinstance(goal, Funnel) for goal in columns.goals.values()) and not can_order_steps(table):
        return False
    return all(_is_summed(goal, schema, has_first=has_first) for goal in columns.goals.values())


def _are_parts_enough(columns: Columns) -> bool:
    """Tell whether parts of the rows add up to all of them."""
    goals = columns.goals.values()
    return columns.cluster is None and all(_adds_up(goal) and not goal.covariates for goal in goals)


def _is_summed(goal: FrameGoal, schema: nw.Schema, *, has_first: bool) -> bool:
    """Tell whether sums say all of a goal; `has_first` where the first row of a visitor is known."""
    if isinstance(goal, Quantile) and goal.of == "event":
        return False
    if isinstance(goal, Funnel) and not are_steps_comparable(goal, schema):
        return False
    kinds = [schema.get(name) for name in goal.covariate_columns]
    return all(
        kind is not None and (kind.is_numeric() or (kind == nw.String and has_first)) for kind in kinds
    )


def _adds_up(goal: FrameGoal) -> bool:
    is_ranked = isinstance(goal, Funnel | Quantile) or goal.percentile is not None
    return not is_ranked and goal.known is None
