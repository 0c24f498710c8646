"""Cohorts laid over each other, held against following every visitor alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.evidence.days_since_exposure import MOST_DAYS, FollowUp
from engine.errors import InvalidEvidenceError

TODAY = 12
# The cohort, the variant, and after how many days each visitor converted, if ever.
VISITOR = st.tuples(st.integers(0, TODAY), st.integers(0, 2), st.one_of(st.none(), st.integers(0, TODAY)))


@given(st.lists(VISITOR, max_size=60))
def test_laid_over_each_other_is_as_followed_one_by_one(people: list[tuple[int, int, int | None]]) -> None:
    # Nobody has converted in the future.
    people = [(came, arm, None if lag is None or came + lag > TODAY else lag) for came, arm, lag in people]
    visitors = np.zeros((TODAY + 1, 3), np.int64)
    converted = np.zeros((TODAY + 1, MOST_DAYS, 3), np.int64)
    at_risk, hits = np.zeros((MOST_DAYS, 3), np.int64), np.zeros((MOST_DAYS, 3), np.int64)
    for came, arm, lag in people:
        visitors[came, arm] += 1
        if lag is not None:
            converted[came, lag, arm] += 1
        # Today is not over: days before it are whole.
        for day in range(TODAY - came):
            if lag is None or lag >= day:
                at_risk[day, arm] += 1
                hits[day, arm] += lag == day
    found = FollowUp.of_cohorts(visitors, converted, TODAY - np.arange(TODAY + 1))
    days = len(found.at_risk)
    assert found.at_risk.tolist() == at_risk[:days].tolist()
    assert found.conversions.tolist() == hits[:days].tolist()
    assert hits[days:].sum() == 0
    assert days == 0 or found.conversions[-1].sum() > 0


def test_nobody_is_followed_for_no_days() -> None:
    empty = FollowUp.of_cohorts(
        np.zeros((0, 2), np.int64), np.zeros((0, MOST_DAYS, 2), np.int64), np.zeros(0, np.int64)
    )
    assert empty.at_risk.shape == (0, 2)


@pytest.mark.parametrize(
    ("at_risk", "hits"), [([[1, 1]], [[2, 0]]), ([[1, 1]], [[-1, 0]]), ([[1, 1]], [[0]])]
)
def test_what_cannot_have_been_is_refused(at_risk: list[list[int]], hits: list[list[int]]) -> None:
    with pytest.raises(InvalidEvidenceError):
        FollowUp(at_risk=np.array(at_risk), conversions=np.array(hits))
