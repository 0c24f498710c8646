"""Clusters: groups of visitors, such as accounts or stores, that are assigned as a whole."""

from dataclasses import dataclass

import numpy as np

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEvidence:
    """Clusters of V variants, by G goals.

    `by` names what they are, such as "account", and `noun` one of them in sentences. `total[v]` clusters have
    visitors, and `known[g, v]` of them one with a known outcome. `visitors_of_several` are the visitors of
    clusters seen in several variants, `in_several` those who were seen in several clusters, and `in_none`
    those without one: they are counted nowhere else.
    `design_effect[g]` times the variance is that of visitors one by one, and `correlation[g]` that within
    clusters (`design_effect_of`); None, or NaN, where they are not known.
    Raises InvalidEvidenceError for numbers that can't have been observed together.
    """

    by: str
    noun: str = "cluster"
    total: IntArray
    known: IntArray
    visitors_of_several: int = 0
    in_several: int = 0
    in_none: int = 0
    design_effect: FloatArray | None = None
    correlation: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.known.shape[1:] != self.total.shape:
            raise InvalidEvidenceError("clusters must be of the same variants in total and by goal")
        aside = min(self.visitors_of_several, self.in_several, self.in_none)
        if (self.known < 0).any() or (self.known > self.total).any() or aside < 0:
            raise InvalidEvidenceError("known clusters must lie between 0 and the clusters of their variant")

    def check_visitors(self, visitors: IntArray) -> None:
        """Raise InvalidEvidenceError unless each variant has at least one visitor in each cluster."""
        if self.total.shape != visitors.shape or (np.asarray(self.total) > visitors).any():
            raise InvalidEvidenceError("clusters must not be more than the visitors of their variant")
