"""Funnels in rows of a DataFrame: the steps that each visitor has done, in order."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.funnels import FunnelEvidence
from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Funnel


def check_steps(frame: pl.DataFrame, rows: pl.DataFrame, place: int, funnel: Funnel) -> None:
    """Raise InvalidEvidenceError for steps of which some are times, and for times that cannot be read."""
    are_flags = [frame.schema[name].is_numeric() or frame.schema[name] == pl.Boolean for name in funnel.steps]
    if any(are_flags) and not all(are_flags):
        raise InvalidEvidenceError(
            f"the steps {', '.join(map(repr, funnel.steps))} are of two kinds: make all of them times, or all"
            " true or false"
        )
    for step, name in enumerate(funnel.steps):
        if frame.schema[name] == pl.String:
            given = frame[name].str.strip_chars() != ""
            if (given & rows[f"step_{place}_{step}"].is_null()).any():
                raise InvalidEvidenceError(
                    f"{name!r} holds text that is no time, such as 2026-03-01T12:00:00"
                )


def with_funnel(rows: pl.DataFrame, place: int, funnel: Funnel, *, is_timed: bool) -> pl.DataFrame:
    """Replace the columns `step_<i>_<k>` of the rows by `goal_<i>` and `reached_<i>`.

    A visitor reaches a step at its first time that is not before the time of the step before. Flags are of
    the row's time, and of one time for all rows without times; `is_timed` where the columns hold times.
    `goal_<i>` is 1 where the row did the last step, and `reached_<i>` the visitor's number of steps.
    """
    at = pl.lit(0) if rows["at"].null_count() else pl.col("at")
    times = [f"step_{place}_{step}" for step in range(len(funnel.steps))]
    if not is_timed:
        rows = rows.with_columns(pl.when(pl.col(name).is_not_null()).then(at).alias(name) for name in times)
    reached = [f"reached_{place}_{step}" for step in range(len(times))]
    for step, name in enumerate(times):
        in_order = (
            pl.col(name) if step == 0 else pl.col(name).filter(pl.col(name) >= pl.col(reached[step - 1]))
        )
        rows = rows.with_columns(in_order.min().over("visitor").alias(reached[step]))
    is_last = (pl.col(times[-1]) == pl.col(reached[-1])).fill_null(value=False)
    return rows.with_columns(
        is_last.cast(pl.Int64).alias(f"goal_{place}"),
        pl.sum_horizontal(pl.col(name).is_not_null() for name in reached)
        .cast(pl.Int64)
        .alias(f"reached_{place}"),
    ).drop(*times, *reached)


def funnels_of(arms: Sequence[pl.DataFrame], kinds: Mapping[str, FrameGoal]) -> dict[int, FunnelEvidence]:
    """Count the visitors at each step of every funnel; one frame per variant, one row per visitor."""
    return {
        place: FunnelEvidence(
            kind.steps,
            np.array(
                [
                    [int((arm[f"reached_{place}"] > step).sum()) for arm in arms]
                    for step in range(len(kind.steps))
                ]
            ),
        )
        for place, kind in enumerate(kinds.values())
        if isinstance(kind, Funnel)
    }
