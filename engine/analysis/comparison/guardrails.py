"""Which variants harm what must not be harmed."""

import numpy as np

from engine.analysis.comparison.metrics import control_column, wanted_directions
from engine.analysis.comparison.significance import (
    MIN_CONVERSIONS,
    MIN_PAYING_VISITORS,
    imbalance_factor,
    uses_mean_test,
)
from engine.analysis.comparison.significance_level import effective_alpha
from engine.analysis.comparison.stratified import paired_with
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.frequentist.noninferiority import judge_guardrail


def broken_guardrails(experiment: Experiment, evidence: Evidence) -> dict[str, tuple[str, ...]]:
    """The names of the guardrails that each variant breaks, by its id; variants that break none are left out.

    A goal is a guardrail where its config has a `guardrail_margin_percent`. It is broken where the variant
    is, at the level of one comparison, worse than the control by more than the margin; never by the
    bad luck of a small arm in which next to nobody converts.
    """
    control = control_column(experiment)
    margins = np.array([goal.config.get("guardrail_margin_percent") for goal in experiment.goals], np.float64)
    guards = ~np.isnan(margins)
    if control is None or not guards.any():
        return {}
    found = judge_guardrail(
        *(one[guards] for one in paired_with(control, experiment, evidence)),
        margin=margins[guards, None] / 100,
        alpha=effective_alpha(experiment.confidence_level, len(experiment.variants)),
        wanted=wanted_directions(experiment)[guards],
    )
    fewest = np.where(uses_mean_test(experiment, evidence), MIN_PAYING_VISITORS, MIN_CONVERSIONS)
    asked = np.floor(fewest[:, None] * imbalance_factor(evidence.visitors, control))
    enough = (evidence.conversions + evidence.conversions[:, [control]] >= asked)[guards]
    names = np.array([goal.name for goal in experiment.goals])[guards]
    return {
        variant.id: tuple(names[broken].tolist())
        for variant, broken in zip(experiment.variants, (found.broken & enough).T, strict=True)
        if not variant.is_control and broken.any()
    }
