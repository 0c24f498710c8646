"""Pause of an imported experiment between its last visitor and the import."""

from dataclasses import replace
from datetime import datetime

from engine.design.experiment import Experiment
from engine.design.pauses import Pause
from pipeline.imports.imported_experiment import ACTOR
from pipeline.store.catalog.catalog import Catalog


def pause_since_last_visitor(
    catalog: Catalog, experiment: Experiment, *, last_visitor_at: datetime | None, now: datetime
) -> Experiment:
    """Record the time from the last visitor to the import as a pause, which the plan does not count.

    Pauses that end after that visitor, as that of an earlier import, are replaced. Nothing changes where no
    visitor was counted, or the experiment is not running.
    """
    if last_visitor_at is None or last_visitor_at >= now:
        return experiment
    gap = Pause(started_at=last_visitor_at, ended_at=now)

    def decide(current: Experiment) -> Experiment:
        if current.status != "running":
            return current
        earlier = (one for one in current.pauses if one.ended_at and one.ended_at <= gap.started_at)
        return replace(current, pauses=(*earlier, gap))

    return catalog.experiments.change(experiment.project_id, experiment.id, decide, actor=ACTOR)
