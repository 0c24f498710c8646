"""Visitors of an experiment who reached what it changes, counted from that moment on."""

from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.local_days import local_days
from pipeline.rollup.counting_rules import LEFT_OUT
from pipeline.rollup.goals.visitor_events import VISITOR
from pipeline.rollup.read_events import ProjectRead

# Of the goal that is added for the event; no answer has it.
REACHED: Final = "reached"


def with_reached_goal(experiment: Experiment, event: str) -> tuple[Goal, ...]:
    """Return the goals of an experiment, with a last one of the event."""
    config = {"event_name": event}
    added = Goal(id=REACHED, name=event, goal_type="custom_event", is_primary=False, config=config)
    return (*experiment.goals, added)


class ReachedRead(ProjectRead):
    """Counted visitors of one experiment, whose last goal is that of the event of the second exposure.

    A visitor counts from the first such event at or after the first exposure, whenever it happened;
    those in no variant stay as they are.
    """

    def _counted_from(self, exposed: pl.DataFrame, hits: pl.DataFrame) -> pl.DataFrame:
        matches = self._goals.filter(pl.col("goal") == pl.col("goal").max())["match"].unique()
        reached = (
            hits.lazy()
            .filter(pl.col("match").is_in(matches.implode()) & ~pl.col("is_refund"))
            .join(exposed.lazy().select(*VISITOR, "first_exposed_at"), on="visitor_key")
            .filter(pl.col("occurred_at") >= pl.col("first_exposed_at"))
            .group_by(VISITOR)
            .agg(pl.col("occurred_at").min().alias("reached_at"))
            .collect()
        )
        joined = exposed.join(reached, on=VISITOR, how="left", maintain_order="left")
        is_left_out = pl.col("variant") >= min(LEFT_OUT)
        found = joined.filter(is_left_out | pl.col("reached_at").is_not_null()).with_columns(
            pl.coalesce("reached_at", "first_exposed_at").alias("first_exposed_at"),
        )
        days = local_days(found["first_exposed_at"].to_numpy(), self._rules.timezone)
        return found.drop("reached_at").with_columns(pl.Series("first_day", days, pl.Int32))
