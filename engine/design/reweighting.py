"""How the weights of an experiment change, so that it stays known who was split by which."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from engine.design.assignment import variant_thresholds
from engine.design.experiment import Experiment
from engine.design.weight_epochs import WeightEpoch


def reweight(experiment: Experiment, weights: Sequence[float], *, now: datetime) -> Experiment:
    """Split new visitors by `weights`, in the order of the variants, from `now` on.

    Who has a variant keeps it: neither the salt nor the bucketing version changes.
    """
    variants = tuple(
        replace(variant, weight=weight) for variant, weight in zip(experiment.variants, weights, strict=True)
    )
    return with_epoch(experiment, replace(experiment, variants=variants, updated_at=now), now=now)


def with_epoch(before: Experiment, after: Experiment, *, now: datetime) -> Experiment:
    """Note in `after` that a new epoch begins at `now`, where it splits visitors otherwise than `before`.

    Before the start there is nothing to note: nobody was split yet.
    """
    if before.started_at is None or _split(before) == _split(after):
        return after
    known = epochs_of(before)
    # A clock that was set back must not put a later epoch before an earlier one.
    begins = max(now, known[-1].started_at)
    return replace(after, weight_epochs=(*known, _epoch(after, begins)))


def epochs_of(experiment: Experiment) -> tuple[WeightEpoch, ...]:
    """Every epoch since the start, the present one last; none before the start."""
    if experiment.weight_epochs or experiment.started_at is None:
        return experiment.weight_epochs
    return (_epoch(experiment, experiment.started_at),)


def _epoch(experiment: Experiment, started_at: datetime) -> WeightEpoch:
    weights = {variant.id: float(variant.weight) for variant in experiment.variants}
    return WeightEpoch(started_at=started_at, weights=weights)


def _split(experiment: Experiment) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Which hashes get which variant: weights that are merely scaled split the same."""
    ids = tuple(variant.id for variant in experiment.variants)
    return ids, variant_thresholds(tuple(variant.weight for variant in experiment.variants))
