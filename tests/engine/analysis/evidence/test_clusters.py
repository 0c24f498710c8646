"""Clusters that cannot have been observed together are refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.analysis.evidence.clusters import ClusterEvidence
from engine.errors import InvalidEvidenceError
from tests.observations import observed

COUNTS: dict[str, Any] = {
    "by": "account",
    "total": np.array([12, 15]),
    "known": np.array([[12, 14]]),
    "visitors_of_several": 3,
}


def test_evidence_counts_clusters_as_what_was_assigned() -> None:
    evidence = replace(observed([100, 120], [10, 12]), clusters=ClusterEvidence(**COUNTS))
    assert evidence.assigned.tolist() == [12, 15]
    assert evidence.known_units.tolist() == [[12, 14]]
    assert (evidence.known_outcomes(0), evidence.known_outcomes(None)) == (26, 27)
    assert evidence.visitors.tolist() == [100, 120]


def test_evidence_without_clusters_counts_visitors() -> None:
    evidence = observed([100, 120], [10, 12])
    assert evidence.assigned.tolist() == [100, 120]
    assert (evidence.known_outcomes(0), evidence.known_outcomes(None)) == (220, 220)


@pytest.mark.parametrize(
    "counts",
    [
        {"known": np.array([[13, 14]])},
        {"known": np.array([[-1, 14]])},
        {"known": np.array([[12, 14, 1]])},
        {"visitors_of_several": -1},
    ],
)
def test_impossible_clusters_are_refused(counts: dict[str, Any]) -> None:
    with pytest.raises(InvalidEvidenceError, match="clusters"):
        ClusterEvidence(**{**COUNTS, **counts})


def test_there_are_at_least_as_many_visitors_as_clusters() -> None:
    with pytest.raises(InvalidEvidenceError, match="more than the visitors"):
        replace(observed([11, 120], [10, 12]), clusters=ClusterEvidence(**COUNTS))
