"""Which variant a visitor sees, and why: the same for the same visitor, on every machine and in the browser.

A visitor is hashed in two roles, `t` for traffic and `v` for the variant, so that a change of the traffic
allocation moves nobody from one variant to another.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import mmh3
import numpy as np
import numpy.typing as npt

from engine.design.experiment import Experiment, Variant
from engine.design.invariants import WEIGHT_UNIT
from engine.stats.arrays import IntArray

Role = Literal["t", "v"]
AssignmentStatus = Literal["new", "existing", "excluded"]
HashArray = npt.NDArray[np.uint32]

_HASHES = 1 << 32
_KEEPS_ASSIGNMENTS = frozenset({"running", "paused"})


@dataclass(frozen=True, slots=True)
class Assignment:
    """The variant to show; None where the visitor takes no part, with the reason in words."""

    variant: Variant | None
    status: AssignmentStatus
    reason: str


def assign(experiment: Experiment, visitor_id: str, *, stored_variant_id: str | None = None) -> Assignment:
    """Assign a visitor; `stored_variant_id` is the variant that the visitor was given before, if any.

    The first assignment wins while the experiment runs or is paused, whatever changed since.
    """
    stored = next((variant for variant in experiment.variants if variant.id == stored_variant_id), None)
    if stored is not None and experiment.status in _KEEPS_ASSIGNMENTS:
        return Assignment(stored, "existing", "the visitor keeps the variant of the first assignment")
    if experiment.status != "running":
        return Assignment(
            None, "excluded", f"the experiment is {experiment.status} and takes no new visitors"
        )
    index = bucket_variant(experiment, visitor_id)
    if index is None:
        share = experiment.traffic_allocation
        return Assignment(None, "excluded", f"the visitor is outside the {share}% of traffic that takes part")
    return Assignment(experiment.variants[index], "new", "assigned by the hash of the visitor")


def bucket_variant(experiment: Experiment, visitor_id: str) -> int | None:
    """The index of the variant that the hash gives a visitor; None outside the traffic, or without any."""
    if visitor_hash(experiment, "t", visitor_id) >= traffic_threshold(experiment.traffic_allocation):
        return None
    if not experiment.variants:
        return None
    thresholds = variant_thresholds(tuple(variant.weight for variant in experiment.variants))
    return bisect_right(thresholds, visitor_hash(experiment, "v", visitor_id))


def bucket_variants(experiment: Experiment, visitor_ids: Sequence[str]) -> IntArray:
    """The index of each visitor's variant, as `bucket_variant` gives it; -1 for its None."""
    outside = np.full(len(visitor_ids), -1, np.int64)
    if not experiment.variants:
        return outside
    taking_part = visitor_hashes(experiment, "t", visitor_ids) < traffic_threshold(
        experiment.traffic_allocation
    )
    thresholds = variant_thresholds(tuple(variant.weight for variant in experiment.variants))
    hashes = visitor_hashes(experiment, "v", visitor_ids).astype(np.uint64)
    return np.where(taking_part, np.searchsorted(np.array(thresholds, np.uint64), hashes, "right"), outside)


def visitor_hash(experiment: Experiment, role: Role, visitor_id: str) -> int:
    """MurmurHash3 x86 32 with seed 0 of `role:salt:bucketing_version:visitor_id` in UTF-8; all 32 bits."""
    return mmh3.hash(_prefix(experiment, role) + _utf8(visitor_id), 0, signed=False)


def visitor_hashes(experiment: Experiment, role: Role, visitor_ids: Iterable[str]) -> HashArray:
    """The hash of each visitor."""
    prefix = _prefix(experiment, role)
    return np.fromiter((mmh3.hash(prefix + _utf8(v), 0, signed=False) for v in visitor_ids), np.uint32)


def _prefix(experiment: Experiment, role: Role) -> bytes:
    return f"{role}:{experiment.salt}:{experiment.bucketing_version}:".encode()


def _utf8(visitor_id: str) -> bytes:
    """Encode as a browser's TextEncoder does: half a surrogate pair becomes U+FFFD."""
    try:
        return visitor_id.encode()
    except UnicodeEncodeError:
        return visitor_id.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def traffic_threshold(allocation: int) -> int:
    """The first hash outside the traffic: h · 100 < allocation · 2^32 exactly where h is below it."""
    return _ceiling(allocation * _HASHES, 100)


@lru_cache(maxsize=1024)
def variant_thresholds(weights: tuple[float, ...]) -> tuple[int, ...]:
    """Where each variant's share of the hashes ends.

    Variant k is the first with h · ΣW < (W_1 + … + W_k) · 2^32, W being weights in whole millionths: exactly
    the first whose threshold lies above h. Integers only, so no machine rounds differently.
    """
    units = [round(weight * WEIGHT_UNIT) for weight in weights]
    total = sum(units)
    return tuple(_ceiling(sum(units[: k + 1]) * _HASHES, total) for k in range(len(units)))


def _ceiling(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
