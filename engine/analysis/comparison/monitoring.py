"""Continuous monitoring: the confidence sequence of an experiment, valid at every look."""

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.stats.arrays import FloatArray
from engine.stats.sequential.confidence_sequence import (
    PLANNED_BY_DEFAULT,
    ConfidenceSequence,
    confidence_sequence,
)


def monitor(data: AnalysisData) -> ConfidenceSequence | None:
    """Compare every variant with the control, goals by variants, by intervals valid at every look.

    At the level of one comparison (Bonferroni), tuned to the planned sample. None without a control, for a
    Bayesian experiment, and for a bandit: its next weights follow from earlier outcomes, so the precision
    of its estimates changes in a way that the sequence is not tuned to.
    """
    plan = data.plan
    if data.pairs is None or plan.control is None or plan.is_bayesian or plan.is_bandit:
        return None
    return confidence_sequence(
        data.pairs.control,
        data.pairs.variant,
        fewest_conversions=min_cell_counts(data, plan.control),
        alpha=plan.comparison_alpha,
        planned=_planned_visitors(data, plan.control),
        ends_as_planned=plan.statistics.sequential == "group_sequential",
    )


def min_cell_counts(data: AnalysisData, control: int) -> FloatArray:
    """Count the rarer outcome in the control and each variant, and take the smaller, goals by variants.

    Nearly all visitors converting is as hard to judge as hardly any.
    """
    conversions = data.evidence.conversions
    without = data.evidence.visitors - conversions
    rarer = np.where(data.plan.is_revenue[:, None], conversions, np.minimum(conversions, without))
    return np.minimum(rarer, rarer[:, [control]]).astype(np.float64)


def _planned_visitors(data: AnalysisData, control: int) -> FloatArray | float:
    """Divide the planned sample: the visitors of each variant and the control together."""
    planned, weights = data.plan.statistics.planned_sample, data.plan.weights
    if planned is None:
        return PLANNED_BY_DEFAULT
    # A variant without traffic gets no visitors, and no plan tunes anything to that.
    of_pairs: FloatArray = np.maximum(planned * (weights + weights[control]) / weights.sum(), 1.0)
    return of_pairs
