"""Analysis of an experiment: from evidence to a report.

All numbers are in shares and cents, and unrounded; percent, rounding and JSON belong to the API.
"""

from collections.abc import Sequence
from datetime import datetime

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.decision.experiment_decision import decide_experiment
from engine.analysis.decision.recording import due_look
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.health.checks import check_health
from engine.analysis.health.measured_visitors import MEASURED_VISITORS
from engine.analysis.report.estimand import describe_estimand
from engine.analysis.report.goal_reports import goal_reports
from engine.analysis.report.plan_report import report_plan
from engine.analysis.report.score_labels import describe_score
from engine.analysis.report.variant_results import variant_results
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment


def analyze(  # noqa: PLR0913  # all but the experiment and its evidence have defaults
    experiment: Experiment,
    evidence: Evidence,
    *,
    now: datetime,
    currency: str = "USD",
    looks: Sequence[RecordedLook] = (),
    is_finished: bool = False,
    is_segment: bool = False,
) -> Report:
    """Analyze the evidence of an experiment at `now`; `currency` is that of goals without their own.

    `looks` are those recorded so far, in order. `is_finished` where the data are complete and judged by one
    look, as of a file; `is_segment` where they are of some visitors only, on which no action rests.
    Raises InvalidEvidenceError where the evidence is not of this experiment's goals and variants.
    """
    evidence.check_shape(goals=len(experiment.goals), variants=len(experiment.variants))
    data = prepare(experiment, evidence, now=now, looks=looks, is_finished=is_finished)
    significance = assess_significance(data)
    decision = decide_experiment(data, significance, has_alarm=False, is_exploratory=is_segment)
    health = check_health(
        data, now, is_decided=decision.is_settled, influence=decision.influence, turns=decision.turns
    )
    alarms = {check.check for check in health if check.status == "alarm"}
    if alarms:
        decision = decide_experiment(
            data,
            significance,
            has_alarm=bool(alarms - {MEASURED_VISITORS}),
            measured_differs=MEASURED_VISITORS in alarms,
            is_exploratory=is_segment,
        )
    results = variant_results(data, significance, currency=currency)
    label, description = describe_score(experiment.analysis_method, experiment.statistics.alternative)
    return Report(
        experiment=experiment,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=data.plan.threshold,
        goals=goal_reports(data, significance, decision, results, health, currency=currency),
        health=health,
        as_of=evidence.as_of,
        plan=report_plan(data),
        due_look=None if is_segment else due_look(data, significance, decision, now=now),
        estimand=describe_estimand(data),
        clustered_by=None if evidence.clusters is None else evidence.clusters.by,
        sums_from=evidence.sums_from,
        is_exploratory=is_segment,
    )
