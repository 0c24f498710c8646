"""What else holds of the variant that leads on a goal: at every look, and among several goals."""

import numpy as np

from engine.analysis.evidence import Evidence
from engine.analysis.judgement import Judgement
from engine.analysis.metrics import wanted_directions
from engine.analysis.watching import watch
from engine.design.experiment import Experiment
from engine.stats.frequentist.multiple_testing import prefer_primary
from engine.stats.moments import BoolArray
from engine.stats.sequential.confidence_sequence import wins_always_valid


def wins_at_any_look(experiment: Experiment, evidence: Evidence) -> BoolArray:
    """Where a variant's win holds however often one looked, goals by variants."""
    sequence = watch(experiment, evidence)
    if sequence is None:
        return np.zeros(evidence.conversions.shape, bool)
    return wins_always_valid(sequence, wanted=wanted_directions(experiment))


def discoveries(experiment: Experiment, judgement: Judgement) -> BoolArray:
    """Where a difference is one, goals by variants: the primary goal by itself, the others among themselves.

    Of the secondary goals of a frequentist experiment that are called different, at most the level's share
    is so by chance (`prefer_primary`). A posterior does not change with the number of questions.
    """
    log_p = judgement.effects.log_p
    if experiment.analysis_method == "bayesian":
        return np.ones(log_p.shape, bool)
    is_primary = np.array([goal.is_primary for goal in experiment.goals], bool)
    found: BoolArray = prefer_primary(log_p, is_primary, axis=0) <= np.log(judgement.alpha)
    return found


def of_leads(judgement: Judgement, claims: BoolArray) -> list[bool]:
    """What is claimed of each goal's lead; False where nobody leads."""
    return [lead >= 0 and bool(claims[goal, lead]) for goal, lead in enumerate(judgement.lead.tolist())]
