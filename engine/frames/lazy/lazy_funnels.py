"""Funnels of a lazy table: the steps that each visitor has done, in order, as its engine finds them."""

from collections.abc import Iterator, Sequence

import narwhals as nw
import numpy as np
import polars as pl

from engine.analysis.evidence.funnels import FunnelEvidence
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Funnel
from engine.frames.lazy.engine_queries import Table, computed_once, flag


def are_steps_comparable(funnel: Funnel, schema: nw.Schema) -> bool:
    """Tell whether the engine can order the steps: all of them flags, or all times of one type."""
    kinds = [schema.get(name) for name in funnel.steps]
    if all(map(_is_flag, kinds)):
        return True
    return isinstance(kinds[0], nw.Date | nw.Datetime) and all(kind == kinds[0] for kind in kinds)


def has_flags(funnel: Funnel, schema: nw.Schema) -> bool:
    """Tell whether the steps of a funnel whose steps are comparable are flags."""
    return _is_flag(schema[funnel.steps[0]])


def _is_flag(kind: nw.dtypes.DType | None) -> bool:
    return kind is not None and (kind.is_numeric() or kind == nw.Boolean)


def with_funnels(
    table: Table, kinds: Sequence[FrameGoal], flagged: Sequence[int], *, is_distinct: bool
) -> Table:
    """Replace the columns `step_<i>_<k>` by `goal_<i>` and `reached_<i>`, as `with_funnel` does for rows.

    Steps of the goals in `flagged` are 1 or null, and of the time of their row where rows have times.
    """
    for place, kind in enumerate(kinds):
        if isinstance(kind, Funnel):
            steps = [f"step_{place}_{step}" for step in range(len(kind.steps))]
            has_times = "at" in table.collect_schema().names()
            if place in flagged and has_times and not is_distinct:
                table = table.with_columns(
                    nw.when(~nw.col(name).is_null()).then(nw.col("at")).alias(name) for name in steps
                )
            table = _in_order(table, place, steps, is_distinct=is_distinct)
    return table


def _in_order(table: Table, place: int, steps: Sequence[str], *, is_distinct: bool) -> Table:
    reached = [f"reached_{name}" for name in steps]
    for step, name in enumerate(steps):
        time = nw.col(name)
        in_order = time if step == 0 else nw.when(time >= nw.col(reached[step - 1])).then(time)
        first = in_order if is_distinct else in_order.min().over("visitor")
        table = computed_once(table.with_columns(first.alias(reached[step])))
    is_last = nw.col(steps[-1]) == nw.col(reached[-1])
    done = [flag(~nw.col(name).is_null()) for name in reached]
    return table.with_columns(
        flag(is_last).cast(nw.Float64).alias(f"goal_{place}"),
        nw.sum_horizontal(done).alias(f"reached_{place}"),
    ).drop(*steps, *reached)


def counts_of_steps(kinds: Sequence[FrameGoal]) -> Iterator[nw.Expr]:
    """Yield the numbers of visitors at each step of each funnel."""
    for place, kind in enumerate(kinds):
        if isinstance(kind, Funnel):
            for step in range(len(kind.steps)):
                yield flag(nw.col(f"reached_{place}") > step).sum().alias(f"step_{place}_{step}")


def funnels_of_counts(by_arm: pl.DataFrame, kinds: Sequence[FrameGoal]) -> dict[int, FunnelEvidence]:
    """Build the funnels from `counts_of_steps` by variant."""
    return {
        place: FunnelEvidence(
            kind.steps,
            np.stack(
                [by_arm[f"step_{place}_{step}"].cast(pl.Int64).to_numpy() for step in range(len(kind.steps))]
            ),
        )
        for place, kind in enumerate(kinds)
        if isinstance(kind, Funnel)
    }
