"""Clusters: groups of visitors, such as accounts or stores, that are assigned as a whole."""

from dataclasses import dataclass

import numpy as np

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEvidence:
    """Clusters of V variants, by G goals.

    `by` names what they are, such as "account". `total[v]` clusters have visitors, and `known[g, v]` of them
    one with a known outcome. `visitors_of_several` are the visitors of clusters seen in several variants, who
    are counted nowhere else. Raises InvalidEvidenceError for numbers that can't have been observed together.
    """

    by: str
    total: IntArray
    known: IntArray
    visitors_of_several: int = 0

    def __post_init__(self) -> None:
        if self.known.shape[1:] != self.total.shape:
            raise InvalidEvidenceError("clusters must be of the same variants in total and by goal")
        if (self.known < 0).any() or (self.known > self.total).any() or self.visitors_of_several < 0:
            raise InvalidEvidenceError("known clusters must lie between 0 and the clusters of their variant")

    def check_visitors(self, visitors: IntArray) -> None:
        """Raise InvalidEvidenceError unless each variant has at least one visitor in each cluster."""
        if self.total.shape != visitors.shape or (np.asarray(self.total) > visitors).any():
            raise InvalidEvidenceError("clusters must not be more than the visitors of their variant")
