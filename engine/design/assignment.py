"""Assignment of visitors to variants by hash: deterministic, on every machine and in the browser.

The id of the experiment's unit is hashed in two roles, `t` for traffic and `v` for the variant, so that a
change of the traffic allocation moves no unit from one variant to another. In the role `g` it is hashed with
the salt of the experiment's group, of whose slots each experiment takes the units of its own.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import mmh3

from engine.design.exclusion.group_slots import hash_ranges
from engine.design.experiment import Experiment
from engine.design.invariants import WEIGHT_UNIT
from engine.design.units import NO_UNIT, unit_name
from engine.design.variants import Variant
from engine.vocabulary import Status

Role = Literal["t", "v", "g"]
AssignmentStatus = Literal["new", "existing", "excluded"]

_HASHES = 1 << 32
_ALL_TRAFFIC = 100
_KEEPS_ASSIGNMENTS = frozenset({"running", "paused"})


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Reason why an experiment takes no visitor: a stable code, and a sentence without a period."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """The variant of a visitor, or None for a visitor who takes no part, with the reason in words."""

    variant: Variant | None
    status: AssignmentStatus
    reason: str


def assign(
    experiment: Experiment, unit_id: str | None, *, stored_variant_id: str | None = None
) -> Assignment:
    """Assign the unit of a visitor; `stored_variant_id` is the variant that it was given before, if any.

    The first assignment wins while the experiment runs or is paused, whatever changed since. A visitor whose
    unit has no id is not assigned.
    """
    unit = unit_name(experiment.unit)
    stored = next((variant for variant in experiment.variants if variant.id == stored_variant_id), None)
    if stored is not None and unit_id is not None and experiment.status in _KEEPS_ASSIGNMENTS:
        return Assignment(stored, "existing", f"the {unit} keeps the variant of the first assignment")
    if exclusion := exclusion_of(experiment, unit_id):
        return Assignment(None, "excluded", exclusion.reason)
    index = bucket_variant(experiment, unit_id or "")
    if index is None:
        return Assignment(None, "excluded", "the experiment has no variants")
    return Assignment(experiment.variants[index], "new", f"assigned by the hash of the {unit}")


def exclusion_of(experiment: Experiment, unit_id: str | None) -> Exclusion | None:
    """Return why an experiment takes no new unit of this id; None where it does.

    The codes are `experiment_<status>`, `no_unit`, which is the reason too, `outside_group_slots` and
    `outside_traffic_allocation`.
    """
    if experiment.status != "running":
        return exclusion_by(experiment.status)
    if unit_id is None:
        return Exclusion(NO_UNIT, NO_UNIT)
    if not is_in_slots(experiment, unit_id):
        return Exclusion(
            "outside_group_slots",
            f"the {unit_name(experiment.unit)} is outside the slots that the experiment has of its group",
        )
    if is_in_traffic(experiment, unit_id):
        return None
    return Exclusion(
        "outside_traffic_allocation",
        f"the {unit_name(experiment.unit)} is outside the {experiment.traffic_allocation}% of traffic that"
        " takes part",
    )


def exclusion_by(status: Status) -> Exclusion:
    """Return why an experiment that is not running takes no new visitor."""
    return Exclusion(f"experiment_{status}", f"the experiment is {status} and takes no new visitors")


def takes_unit(experiment: Experiment, unit_id: str) -> bool:
    """Return whether the hashes of the unit are inside the slots and the traffic allocation."""
    return is_in_slots(experiment, unit_id) and is_in_traffic(experiment, unit_id)


def is_in_slots(experiment: Experiment, unit_id: str) -> bool:
    """Return whether the experiment has the unit's slot of its group; always without a group."""
    if experiment.group_slots is None:
        return True
    own = unit_hash(experiment, "g", unit_id)
    return any(first <= own < beyond for first, beyond in hash_ranges(experiment.group_slots.slots))


def is_in_traffic(experiment: Experiment, unit_id: str) -> bool:
    """Return whether the hash of the unit is inside the traffic allocation."""
    # Every hash is inside all traffic.
    if experiment.traffic_allocation == _ALL_TRAFFIC:
        return True
    return unit_hash(experiment, "t", unit_id) < traffic_threshold(experiment.traffic_allocation)


def bucket_variant(experiment: Experiment, unit_id: str) -> int | None:
    """Return the index of the variant by hash; None outside the slots or the traffic, or without variants."""
    if not experiment.variants or not takes_unit(experiment, unit_id):
        return None
    thresholds = variant_thresholds(tuple(variant.weight for variant in experiment.variants))
    return bisect_right(thresholds, unit_hash(experiment, "v", unit_id))


def unit_hash(experiment: Experiment, role: Role, unit_id: str) -> int:
    """Hash `role:salt:bucketing_version:unit_id` in UTF-8: MurmurHash3 x86 32, seed 0, all 32 bits."""
    prefix = hash_prefix(experiment, role).encode()
    return mmh3.hash(prefix + id_bytes(unit_id), 0, signed=False)


def unit_hashes(experiment: Experiment, role: Role, unit_ids: Iterable[str | None]) -> Iterator[int | None]:
    """Hash many ids as `unit_hash` does; None for None."""
    prefix = hash_prefix(experiment, role).encode()
    for one in unit_ids:
        yield None if one is None else mmh3.hash(prefix + id_bytes(one), 0, signed=False)


def hash_prefix(experiment: Experiment, role: Role) -> str:
    """Return what is hashed before the id of a unit; in the role `g`, by the experiment's group."""
    of = experiment.group_slots if role == "g" and experiment.group_slots else experiment
    return f"{role}:{of.salt}:{of.bucketing_version}:"


def id_bytes(unit_id: str) -> bytes:
    """Encode as a browser's TextEncoder does: half a surrogate pair becomes U+FFFD."""
    try:
        return unit_id.encode()
    except UnicodeEncodeError:
        return unit_id.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def traffic_threshold(allocation: int) -> int:
    """Return the first hash outside the traffic: h · 100 < allocation · 2^32 exactly where h is below it."""
    return _ceiling(allocation * _HASHES, 100)


@lru_cache(maxsize=1024)
def variant_thresholds(weights: tuple[float, ...]) -> tuple[int, ...]:
    """Return the end of each variant's share of the hashes.

    Variant k is the first with h · ΣW < (W_1 + … + W_k) · 2^32, W being weights in whole millionths: exactly
    the first whose threshold lies above h. Integers only, so no machine rounds differently.
    """
    units = [round(weight * WEIGHT_UNIT) for weight in weights]
    total = sum(units)
    return tuple(_ceiling(sum(units[: k + 1]) * _HASHES, total) for k in range(len(units)))


def _ceiling(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
