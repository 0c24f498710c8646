"""Significance level of one comparison among several."""

from engine.design.experiment import Experiment


def effective_alpha(level: int, variants: int) -> float:
    """Divide the false alarms allowed by the comparisons with the control: Bonferroni over variants - 1.

    `level` is a percent, the result a share. With fewer than three variants there is one comparison, at
    the level itself.
    """
    return (100 - level) / 100 / max(variants - 1, 1)


def decision_alpha(experiment: Experiment) -> float:
    """Return the level p values are compared with: all of alpha where Holm or Dunnett adjusts them."""
    are_adjusted = experiment.statistics.correction != "bonferroni"
    return effective_alpha(experiment.confidence_level, 1 if are_adjusted else len(experiment.variants))


def decision_threshold(experiment: Experiment) -> float:
    """Return the score, a share, from which a comparison is decided: 1 - `decision_alpha`."""
    return 1.0 - decision_alpha(experiment)
