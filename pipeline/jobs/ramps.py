"""Ramps: steps of growing traffic that are taken in time, and harm that is acted on."""

from datetime import datetime
from functools import partial

from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN
from engine.design.ramp_harm import answer_findings, is_guarded, new_findings
from engine.design.ramp_steps import next_step_is_due, take_next_step
from pipeline.jobs.lifecycle import change_if_due, each_experiment
from pipeline.results.kept_findings import KeptFindings
from pipeline.results.results import Results
from pipeline.store.catalog.catalog import Catalog


def guide_ramps(catalog: Catalog, results: Results, kept: KeptFindings, *, now: datetime) -> None:
    """Act on harm in every experiment with a ramp, and take its next step where all is well.

    ExceptionGroup of the failures.
    """
    guarded = [one for one in catalog.experiments.in_statuses(OPEN) if is_guarded(one, now=now)]
    kept.forget_others({one.id for one in guarded})
    each_experiment(guarded, partial(_guide, catalog, results, kept, now))


def _guide(
    catalog: Catalog, results: Results, kept: KeptFindings, now: datetime, experiment: Experiment
) -> None:
    project = catalog.projects.find(experiment.project_id)
    evidence, findings = kept.of(experiment, project, now=now)
    has_alarm = not all(one.is_harm for one in findings)

    def is_unchanged(current: Experiment) -> bool:
        # What was found is of the experiment that was analyzed, not of a later version.
        return current == experiment

    if new := new_findings(experiment, findings):
        # Recorded, so that no late event takes the harm away.
        results.report(experiment, project, now=now)
        answer = partial(answer_findings, findings=new, has_alarm=has_alarm, now=now)
        actor = f"guarded ramp: {', '.join(one.name for one in new)}"
        change_if_due(catalog, is_unchanged, [(actor, answer)], experiment)
        return
    if evidence.as_of is not None and not has_alarm and not evidence.missing_sources:
        is_due = partial(next_step_is_due, counted_until=evidence.as_of, now=now)
        change_if_due(catalog, is_due, [("guarded ramp", partial(take_next_step, now=now))], experiment)
