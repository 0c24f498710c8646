"""What may be said about every variant while visitors still come in, however often one looks."""

import numpy as np

from engine.analysis.comparison.metrics import control_column, is_revenue
from engine.analysis.comparison.significance_level import effective_alpha
from engine.analysis.comparison.stratified import paired_with
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.arrays import FloatArray
from engine.stats.sequential.confidence_sequence import (
    PLANNED_BY_DEFAULT,
    ConfidenceSequence,
    confidence_sequence,
)


def monitor(experiment: Experiment, evidence: Evidence) -> ConfidenceSequence | None:
    """Compare every variant with the control, goals by variants, by intervals that hold at every look.

    At the level of one comparison (Bonferroni), tuned to the planned sample. None without a control, and
    for a bandit, whose next weights follow from what was seen: how sure its estimates are changes in a way
    that the sequence is not tuned to.
    """
    control = control_column(experiment)
    if control is None or experiment.traffic_strategy == "bandit":
        return None
    return confidence_sequence(
        *paired_with(control, experiment, evidence),
        fewest_conversions=min_cell_counts(experiment, evidence, control),
        alpha=effective_alpha(experiment.confidence_level, len(experiment.variants)),
        planned=_planned(experiment, control),
        ends_as_planned=experiment.statistics.sequential == "group_sequential",
    )


def min_cell_counts(experiment: Experiment, evidence: Evidence, control: int) -> FloatArray:
    """Visitors of the rarer kind in either arm: nearly all converting is as hard to judge as hardly any."""
    rarer = np.where(
        is_revenue(experiment)[:, None],
        evidence.conversions,
        np.minimum(evidence.conversions, evidence.visitors - evidence.conversions),
    )
    return np.minimum(rarer, rarer[:, [control]]).astype(np.float64)


def _planned(experiment: Experiment, control: int) -> FloatArray | float:
    """The visitors planned for each variant and the control together."""
    planned = experiment.statistics.planned_sample
    if planned is None:
        return PLANNED_BY_DEFAULT
    weights = np.array([variant.weight for variant in experiment.variants])
    # An arm without traffic gets nobody, and no plan tunes anything to that.
    of_pairs: FloatArray = np.maximum(planned * (weights + weights[control]) / weights.sum(), 1.0)
    return of_pairs
