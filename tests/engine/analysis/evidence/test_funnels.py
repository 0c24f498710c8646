"""Funnels never widen."""

import numpy as np
import pytest

from engine.analysis.evidence.funnels import FunnelEvidence
from engine.errors import InvalidEvidenceError


def test_a_step_has_at_most_the_visitors_of_the_step_before() -> None:
    assert FunnelEvidence(("cart", "paid"), np.array([[5, 4], [5, 0]])).names == ("cart", "paid")
    with pytest.raises(InvalidEvidenceError, match="step before"):
        FunnelEvidence(("cart", "paid"), np.array([[5, 4], [5, 5]]))


def test_every_step_has_a_row_of_visitors() -> None:
    with pytest.raises(InvalidEvidenceError, match="row of visitors"):
        FunnelEvidence(("cart", "paid"), np.array([[5, 4]]))
