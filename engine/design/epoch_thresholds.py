"""Thresholds of the variants in each weight epoch, and the hashes on which the epochs disagree."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime

from engine.design.assignment import takes_unit, unit_hash, variant_thresholds
from engine.design.exclusion.group_slots import HashRange
from engine.design.experiment import Experiment


@dataclass(frozen=True, slots=True)
class EpochThresholds:
    """The end of each variant's share of the hashes, from `started_at` to the next epoch."""

    started_at: datetime
    thresholds: tuple[int, ...]


def epoch_thresholds(experiment: Experiment) -> tuple[EpochThresholds, ...]:
    """Return the thresholds of every epoch, the current one last; none before weights have changed."""
    return tuple(
        EpochThresholds(
            epoch.started_at,
            variant_thresholds(tuple(epoch.weights.get(variant.id, 0.0) for variant in experiment.variants)),
        )
        for epoch in experiment.weight_epochs
    )


def unsettled_ranges(experiment: Experiment) -> tuple[HashRange, ...]:
    """Return the hashes whose variant depends on the epoch, as ranges in order that do not touch.

    Between the smallest and the largest end of a variant's share, and nowhere else, epochs disagree.
    """
    ends = [one.thresholds for one in epoch_thresholds(experiment)]
    merged: list[HashRange] = []
    for first, beyond in sorted((min(shares), max(shares)) for shares in zip(*ends, strict=True)):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(beyond, merged[-1][1]))
        elif first < beyond:
            merged.append((first, beyond))
    return tuple(merged)


def variant_first_seen(experiment: Experiment, unit_id: str, first_seen: datetime) -> int | None:
    """Return the index of the variant of a unit that came first at a time; None where it takes no part.

    A time before the first epoch is of that epoch.
    """
    if not experiment.variants or not takes_unit(experiment, unit_id):
        return None
    epochs = epoch_thresholds(experiment)
    thresholds = variant_thresholds(tuple(variant.weight for variant in experiment.variants))
    if epochs:
        place = bisect_right(epochs, first_seen, key=lambda epoch: epoch.started_at)
        thresholds = epochs[max(place - 1, 0)].thresholds
    return bisect_right(thresholds, unit_hash(experiment, "v", unit_id))
