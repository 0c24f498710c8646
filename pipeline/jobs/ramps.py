"""Ramps: steps of growing traffic that are taken in time, and harm that is acted on."""

from datetime import datetime
from functools import partial

from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN
from engine.design.ramp_harm import answer_findings, is_guarded, new_findings
from engine.design.ramp_steps import next_step_is_due, take_next_step
from pipeline.jobs.lifecycle import change_if_due, each_experiment
from pipeline.results.results import Results
from pipeline.store.catalog.catalog import Catalog


def guide_ramps(catalog: Catalog, results: Results, *, now: datetime) -> None:
    """Act on harm in every experiment with a ramp, and take its next step where all is well.

    ExceptionGroup of the failures.
    """
    guarded = (one for one in catalog.experiments.in_statuses(OPEN) if is_guarded(one, now=now))
    each_experiment(guarded, partial(_guide, catalog, results, now))


def _guide(catalog: Catalog, results: Results, now: datetime, experiment: Experiment) -> None:
    from engine.analysis.automation.ramp_findings import (  # noqa: PLC0415 - slow, and not needed at a start
        ramp_findings,
    )

    project = catalog.projects.find(experiment.project_id)
    evidence = results.evidence(experiment, project, now=now)
    looks = catalog.recorded_looks.of(experiment.id)
    findings = ramp_findings(experiment, evidence, now=now, looks=looks)
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
