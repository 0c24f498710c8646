"""Analysis of an experiment: from evidence to a report.

All numbers are in shares and cents, and unrounded; percent, rounding and JSON belong to the API.
"""

from datetime import datetime

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.power import assess_power
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.checks import check_health
from engine.analysis.report.estimand import describe_estimand
from engine.analysis.report.goal_reports import goal_reports
from engine.analysis.report.score_labels import describe_score
from engine.analysis.report.variant_results import variant_results
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment


def analyze(experiment: Experiment, evidence: Evidence, *, now: datetime, currency: str = "USD") -> Report:
    """Analyze the evidence of an experiment at `now`; `currency` is that of its cents.

    Raises InvalidEvidenceError where the evidence is not of this experiment's goals and variants.
    """
    evidence.check_shape(goals=len(experiment.goals), variants=len(experiment.variants))
    data = prepare(experiment, evidence)
    power = assess_power(data)
    health = check_health(data, power, now)
    significance = assess_significance(data)
    results = variant_results(data, significance)
    label, description = describe_score(experiment.analysis_method)
    return Report(
        experiment=experiment,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=data.plan.threshold,
        goals=goal_reports(data, significance, results, health, days_left=power.days_left, currency=currency),
        health=health,
        as_of=evidence.as_of,
        estimand=describe_estimand(data),
    )
