"""What is believed about conversion rates from the time before the experiment."""

import numpy as np

from engine.analysis.evidence import Evidence
from engine.design.experiment import Experiment
from engine.stats.bayesian.priors import prior_of_past
from engine.stats.moments import FloatArray


def beta_priors(experiment: Experiment, evidence: Evidence) -> FloatArray:
    """The shapes of each goal's Beta prior, goals by two; flat, but for what the pre-period says.

    All arms together had their first exposure still before them, so one prior is of all of them.
    """
    shapes = np.ones((len(experiment.goals), 2))
    if experiment.statistics.prior == "pre_period" and evidence.values is not None:
        before = evidence.values.before.x
        for goal, (converted, visitors) in enumerate(
            zip(before.total.sum(axis=-1), before.n.sum(axis=-1), strict=True)
        ):
            shapes[goal] = prior_of_past(min(float(converted), float(visitors)), float(visitors))
    return shapes
