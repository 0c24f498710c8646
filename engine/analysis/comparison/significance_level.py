"""How sure one comparison has to be when several are made."""

from engine.design.experiment import Experiment


def effective_alpha(level: int, variants: int) -> float:
    """Share of false alarms allowed to each comparison with the control: Bonferroni over variants - 1.

    `level` is a percent. With fewer than three variants there is one comparison, at the level itself.
    """
    return (100 - level) / 100 / max(variants - 1, 1)


def effective_threshold(level: int, variants: int) -> float:
    """The score, a share, from which a comparison counts as decided: 1 - `effective_alpha`."""
    return 1.0 - effective_alpha(level, variants)


def decision_alpha(experiment: Experiment) -> float:
    """What p values are held against: all of alpha where they are adjusted themselves, by Holm or Dunnett."""
    are_adjusted = experiment.statistics.correction != "bonferroni"
    return effective_alpha(experiment.confidence_level, 1 if are_adjusted else len(experiment.variants))


def decision_threshold(experiment: Experiment) -> float:
    """The score, a share, from which a comparison counts as decided: 1 - `decision_alpha`."""
    return 1.0 - decision_alpha(experiment)
