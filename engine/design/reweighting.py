"""Changes of the variants' weights, recorded as weight epochs."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from engine.design.assignment import variant_thresholds
from engine.design.experiment import Experiment
from engine.design.weight_epochs import WeightEpoch


def reweight(experiment: Experiment, weights: Sequence[float], *, now: datetime) -> Experiment:
    """Split new visitors by `weights`, in the order of the variants, from `now` on.

    Assigned visitors keep their variant: neither the salt nor the bucketing version changes.
    """
    variants = tuple(
        replace(variant, weight=weight) for variant, weight in zip(experiment.variants, weights, strict=True)
    )
    return with_epoch(experiment, replace(experiment, variants=variants, updated_at=now), now=now)


def with_epoch(before: Experiment, after: Experiment, *, now: datetime) -> Experiment:
    """Add an epoch from `now` on to `after` where it splits visitors otherwise than `before`.

    Before the start there are no epochs.
    """
    if before.started_at is None or _split(before) == _split(after):
        return after
    known = epochs_of(before)
    # A clock that was set back must not put a later epoch before an earlier one.
    begins = max(now, known[-1].started_at)
    return replace(after, weight_epochs=(*known, _epoch(after, begins)))


def epochs_of(experiment: Experiment) -> tuple[WeightEpoch, ...]:
    """Return every epoch since the start, the current one last; none before the start."""
    if experiment.weight_epochs or experiment.started_at is None:
        return experiment.weight_epochs
    return (_epoch(experiment, experiment.started_at),)


def _epoch(experiment: Experiment, started_at: datetime) -> WeightEpoch:
    weights = {variant.id: float(variant.weight) for variant in experiment.variants}
    return WeightEpoch(started_at=started_at, weights=weights)


def _split(experiment: Experiment) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the hash ranges of the variants, which scaling of all weights does not change."""
    ids = tuple(variant.id for variant in experiment.variants)
    return ids, variant_thresholds(tuple(variant.weight for variant in experiment.variants))
