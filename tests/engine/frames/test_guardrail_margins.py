"""Guardrails by column: a loss beyond the margin decides against a gain of the primary goal."""

import polars as pl
import pytest

from engine.analysis.results.report import Report
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame


def analyzed(**margins: float) -> Report:
    """20,000 visitors a variant, of whom 10% and 12% buy, and 50% and 45% return."""
    rows = [
        (arm, number < buyers, number % 100 < returning)
        for arm, buyers, returning in (("A", 2_000, 50), ("B", 2_400, 45))
        for number in range(20_000)
    ]
    frame = pl.DataFrame(rows, schema=["variant", "bought", "returned"], orient="row")
    return analyze_frame(frame, control="A", goals=["bought", "returned"], guardrails=margins)


def reason(report: Report) -> str | None:
    assert report.primary is not None
    return report.primary.decision.reason


def test_a_loss_beyond_the_margin_breaks_the_guardrail() -> None:
    broken, kept = analyzed(returned=2), analyzed(returned=20)
    assert (reason(broken), reason(kept)) == ("guardrail_broken", None)
    assert [goal.goal.config.get("guardrail_margin_percent") for goal in broken.goals] == [None, 2]


@pytest.mark.parametrize(
    ("margins", "said"),
    [
        ({"back": 2}, "guardrails name no goals: 'back'"),
        ({"bought": 2}, "'bought' is the primary goal"),
        ({"returned": -1}, "from 0 to 99 percent, not -1"),
        ({"returned": float("nan")}, "not nan"),
    ],
)
def test_guardrails_that_make_no_sense_are_refused(margins: dict[str, float], said: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=said):
        analyzed(**margins)
