from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.errors import InvalidEvidenceError
from engine.stats.moments import Moments
from tests.observations import observed


def test_evidence_of_nothing_is_evidence() -> None:
    nothing = Evidence.empty(2, 3)
    assert nothing.conversions.shape == (2, 3)
    assert nothing.daily.visitors.shape == (0, 3)


def test_more_conversions_than_visitors_were_not_observed() -> None:
    with pytest.raises(InvalidEvidenceError, match="count each visitor once"):
        observed([10, 10], [11, 1])


def test_revenue_is_of_every_visitor_and_not_of_buyers_only() -> None:
    buyers = Moments.of_shares([[3.0, 4.0]], [[5.0, 5.0]])
    with pytest.raises(InvalidEvidenceError, match="zeros included"):
        observed([10, 10], [5, 5], cents=buyers)


def test_numbers_of_visitors_are_not_negative() -> None:
    with pytest.raises(InvalidEvidenceError, match="must not be negative"):
        observed([10, 10], [1, 1], several_variants=-1)


def test_shapes_agree() -> None:
    with pytest.raises(InvalidEvidenceError, match="shape"):
        replace(observed([10, 10], [1, 1]), visitors=np.array([10, 10, 10]))
    with pytest.raises(InvalidEvidenceError, match="conversions must have the shape"):
        observed([10, 10], [1, 1]).check_shape(goals=2, variants=2)


def test_known_outcomes_lie_between_conversions_and_visitors() -> None:
    known = replace(observed([10, 10], [1, 1]), observed=np.array([[8, 1]]))
    assert known.trials.tolist() == [[8, 1]]
    assert observed([10, 10], [1, 1]).trials.tolist() == [[10, 10]]
    for wrong in ([[0, 8]], [[8, 11]]):
        with pytest.raises(InvalidEvidenceError, match="between the conversions and the visitors"):
            replace(observed([10, 10], [1, 1]), observed=np.array(wrong))
