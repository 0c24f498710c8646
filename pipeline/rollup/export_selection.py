"""Selection of an experiment's visitors for a file: what exports and snapshots write of each goal."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.rollup.goals.goal_money import units_of, units_of_denominators
from pipeline.rollup.goals.known_days import observed_until
from pipeline.rollup.goals.summed_goals import attributes_of, goals_with_past
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX
from pipeline.store.warehouse.visitor_export import VisitorExport


def exported_visitors(  # noqa: PLR0913  # the rest is said by name
    experiment: Experiment,
    project: Project,
    *,
    variants: Sequence[tuple[str, str]],
    goal_ids: Sequence[str],
    as_of: datetime,
    segment: Mapping[str, str],
    is_published: bool,
    with_keys: bool = False,
) -> VisitorExport:
    """Select the visitors of an experiment, with the columns that its goals and covariates have."""
    quantiles = [goal for goal in experiment.goals if goal.measure.is_quantile]
    return VisitorExport(
        project_id=project.id,
        experiment_id=experiment.id,
        is_published=is_published,
        variants=variants,
        goal_ids=goal_ids,
        segment=segment,
        units=units_of(experiment.goals),
        observed_until=observed_until(experiment, as_of, project.timezone),
        units_of_denominators=units_of_denominators(experiment.goals),
        quantiles=[goal.id for goal in quantiles],
        of_events=[goal.id for goal in quantiles if goal.tracking["of"] == "event"],
        funnels=[goal.id for goal in experiment.goals if "steps" in goal.measure.columns],
        per_order=[goal.id for goal in experiment.goals if goal.measure.is_per_order],
        with_past=goals_with_past(experiment, goal_ids),
        custom_keys=[
            name.removeprefix(CUSTOM_PREFIX)
            for name in attributes_of(experiment)
            if name.startswith(CUSTOM_PREFIX)
        ],
        with_keys=with_keys,
        unit=experiment.unit,
    )
