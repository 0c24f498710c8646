"""Experiments as their rollouts show them: all traffic, one variant, and nothing that depends on a test."""

from dataclasses import replace

from engine.design.experiment import Experiment
from engine.design.units import VISITOR


def as_rolled_out(experiment: Experiment) -> Experiment:
    """Return an experiment that assigns every visitor to the shipped variant, whose place stays the same.

    One without a rollout is returned as it is. The other variants are empty: nobody sees them.
    """
    shipped = experiment.shipped
    if shipped is None:
        return experiment
    variants = tuple(
        replace(one, weight=1.0) if one is shipped else replace(one, weight=0.0, changes=(), payload=None)
        for one in experiment.variants
    )
    return replace(
        experiment,
        traffic_allocation=100,
        group=None,
        group_slots=None,
        unit=VISITOR,
        weight_epochs=(),
        variants=variants,
    )
