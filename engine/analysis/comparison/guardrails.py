"""Guardrails: variants that harm a goal by more than its margin."""

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.significance import MIN_CONVERSIONS, MIN_PAYING_VISITORS, imbalance_factor
from engine.stats.frequentist.noninferiority import noninferiority_test


def broken_guardrails(data: AnalysisData) -> dict[str, tuple[str, ...]]:
    """Name the guardrails that each variant breaks, by its id; variants that break none are left out.

    A goal is a guardrail where its config has a `guardrail_margin_percent`. It is broken where the variant
    is, at the level of one comparison, worse than the control by more than the margin; never by the
    bad luck of a small arm with hardly any conversions.
    """
    plan, evidence = data.plan, data.evidence
    guards = ~np.isnan(plan.margins)
    if plan.control is None or data.pairs is None or not guards.any():
        return {}
    test = noninferiority_test(
        data.pairs.control[guards],
        data.pairs.variant[guards],
        margin=plan.margins[guards, None],
        alpha=plan.comparison_alpha,
        wanted=plan.wanted[guards],
    )
    fewest = np.where(data.needs_mean_test, MIN_PAYING_VISITORS, MIN_CONVERSIONS)
    needed = np.floor(fewest[:, None] * imbalance_factor(evidence.visitors, plan.control))
    enough = (evidence.conversions + evidence.conversions[:, [plan.control]] >= needed)[guards]
    names = np.array([goal.name for goal in data.experiment.goals])[guards]
    return {
        variant.id: tuple(names[is_broken].tolist())
        for variant, is_broken in zip(data.experiment.variants, (test.broken & enough).T, strict=True)
        if not variant.is_control and is_broken.any()
    }
