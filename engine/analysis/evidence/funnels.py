"""Funnels: visitors that reached each of a goal's ordered steps."""

from dataclasses import dataclass

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import IntArray


@dataclass(frozen=True, slots=True)
class FunnelEvidence:
    """Visitors at each of K steps by V variants, (K, V): those that did all steps up to it, in order.

    `names` are the steps'. Raises InvalidEvidenceError where a step has more visitors than the one before.
    """

    names: tuple[str, ...]
    visitors: IntArray

    def __post_init__(self) -> None:
        if self.visitors.shape[0] != len(self.names):
            raise InvalidEvidenceError("every step of a funnel has a row of visitors")
        if (self.visitors[1:] > self.visitors[:-1]).any() or (self.visitors < 0).any():
            raise InvalidEvidenceError("a step of a funnel has at most the visitors of the step before")
