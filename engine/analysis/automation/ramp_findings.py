"""Findings of a ramp: harm that holds at every look, and health checks that alarm."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData, prepare
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.decision.early_harm import early_harm
from engine.analysis.decision.experiment_decision import Decision, decide_experiment, goal_roles
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.health.checks import check_health
from engine.analysis.results.verdict_words import CHECK_WORDS
from engine.design.experiment import Experiment
from engine.design.ramp_harm import Finding


def ramp_findings(
    experiment: Experiment, evidence: Evidence, *, now: datetime, looks: Sequence[RecordedLook] = ()
) -> list[Finding]:
    """Find what a ramp acts on: a loss of the primary goal or a broken guardrail, and alarms.

    Of what holds at every look only: never by the one look at the plan, or by what one visitor makes. Beside
    the sequence of the plan, one that is tuned to few visitors finds what they show. `looks` are those
    recorded so far.
    """
    data = prepare(experiment, evidence, now=now, looks=looks)
    alarms = [check for check in check_health(data, now) if check.status == "alarm"]
    # Not its message, which may quote what a visitor sent: it is kept with the experiment.
    found = [
        Finding(name=one.check, message=f"The check “{CHECK_WORDS[one.check].label}” alarms.", is_harm=False)
        for one in alarms
    ]
    if data.plan.primary is None or data.plan.control is None:
        return found
    decision = decide_experiment(data, assess_significance(data), has_alarm=bool(alarms))
    return [*_harmed_goals(data, decision), *found]


def _harmed_goals(data: AnalysisData, decision: Decision) -> Iterator[Finding]:
    established, experiment = decision.at_any_look, data.experiment
    is_primary = np.arange(len(experiment.goals)) == data.plan.primary
    early = early_harm(
        decision.statistics,
        roles=goal_roles(data),
        alpha=data.plan.two_sided_alpha,
        visitors=data.sample.collected,
    )
    harmed = (established.loses & is_primary[:, None]) | established.broken | early
    harmed &= ~decision.turns & decision.situation.is_compared
    for row in np.flatnonzero(harmed.any(axis=1)):
        goal = experiment.goals[row]
        variants = [experiment.variants[column] for column in np.flatnonzero(harmed[row])]
        names = ", ".join(f"'{one.name}'" for one in variants)
        what = "the primary goal" if is_primary[row] else "a guardrail, beyond its margin"
        yield Finding(
            name=goal.id,
            message=f"{names} harms '{goal.name}', {what}, by what holds at every look.",
            variant_ids=tuple(one.id for one in variants),
        )
