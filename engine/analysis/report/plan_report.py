"""Report of the sample plan of an experiment."""

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.results.planned_sample import PlanReport


def report_plan(data: AnalysisData) -> PlanReport:
    """Report the plan that holds, its source and progress, and what it can detect."""
    sample = data.sample
    harm = zip(data.experiment.goals, sample.detectable_harm.tolist(), strict=True)
    return PlanReport(
        source=sample.source,
        required_visitors=sample.required_visitors,
        tuned_to=float(sample.tuned_to if sample.at_plan is None else sample.at_plan),
        collected_visitors=int(data.evidence.visitors.sum()),
        observed_visitors=sample.collected if sample.counts_outcomes and not data.plan.in_clusters else None,
        clusters=sample.collected if data.plan.in_clusters else None,
        noun=data.evidence.noun,
        **_alike(data),
        open_visitors=data.evidence.open_visitors(data.plan.known_after),
        outcomes_since=sample.outcomes_since if sample.counts_outcomes else None,
        progress=sample.progress,
        is_reached=sample.is_reached,
        reached_at=None if sample.recorded is None else sample.recorded.taken_at,
        running_days=sample.running_days,
        days_left=sample.days_left,
        minimum_effect=float(sample.minimum_effect),
        detectable_effect=sample.detectable_effect,
        guardrail_power={
            goal.id: power
            for goal, power in zip(data.experiment.goals, sample.guardrail_power.tolist(), strict=True)
            if np.isfinite(power)
        },
        detectable_harm={goal.id: loss for goal, loss in harm if np.isfinite(loss)},
    )


def _alike(data: AnalysisData) -> dict[str, float]:
    """Report how alike visitors of one cluster are on the primary goal, where that is known."""
    clusters, row = data.evidence.clusters, data.plan.primary
    if clusters is None or row is None:
        return {}
    measured = {
        "design_effect": clusters.design_effect,
        "intra_class_correlation": clusters.correlation,
    }
    return {
        name: float(found[row])
        for name, found in measured.items()
        if found is not None and np.isfinite(found[row])
    }
