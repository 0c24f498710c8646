from typing import get_args

import pytest

from engine.analysis.results.report import Reason, Recommendation
from engine.analysis.results.segment_report import SegmentStatus
from engine.analysis.results.status_words import STATUS_WORDS, RowStatus, status_beside
from engine.analysis.results.variant_result import VariantStatus


def test_every_status_has_a_word() -> None:
    assert set(STATUS_WORDS) == {*get_args(VariantStatus), *get_args(SegmentStatus), *get_args(RowStatus)}
    assert STATUS_WORDS["winner"] == STATUS_WORDS["better"]
    assert STATUS_WORDS["loser"] == STATUS_WORDS["worse"]


@pytest.mark.parametrize(
    ("recommendation", "reason", "shown"),
    [
        ("ship", None, "winner"),
        ("rollback", None, "winner"),
        ("review", "guardrail_broken", "winner"),
        ("review", "exploratory", "inconclusive"),
        ("keep_running", None, "inconclusive"),
        ("fix_data", None, "inconclusive"),
        ("insufficient_data", None, "inconclusive"),
    ],
)
def test_a_win_is_shown_where_the_verdict_rests_on_it(
    recommendation: Recommendation, reason: Reason | None, shown: VariantStatus
) -> None:
    assert status_beside("winner", recommendation, reason) == shown
    assert status_beside("loser", recommendation, reason) == ("loser" if shown == "winner" else shown)
    assert status_beside("insufficient_data", recommendation, reason) == "insufficient_data"
