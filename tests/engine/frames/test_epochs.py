from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from engine.analysis.results.report import Report
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
EVEN, MOVED = {"old": 1.0, "new": 1.0}, {"old": 1.0, "new": 3.0}


def rows() -> pl.DataFrame:
    """Four visitors; the first comes back after weights have moved, and the last came while they did."""
    return pl.DataFrame(
        {
            "visitor": ["a", "a", "b", "c", "d"],
            "variant": ["old", "old", "new", "new", "old"],
            "at": [FIRST + timedelta(minutes=minute) for minute in (0, 90, 5, 75, 61)],
            "bought": [0, 1, 0, 1, 0],
        }
    )


def analysed(frame: pl.DataFrame, **more: Any) -> Report:
    timestamp: dict[str, Any] = {"timestamp": "at"} if "at" in frame.columns else {}
    return analyze_frame(frame, control="old", goals=["bought"], visitor="visitor", **timestamp, **more)


def test_visitors_belong_to_the_epoch_of_their_first_row() -> None:
    epochs = [(FIRST, EVEN), (FIRST + timedelta(hours=1), MOVED), (FIRST + timedelta(days=9), EVEN)]
    report = analysed(rows(), weight_epochs=epochs)
    assert report.estimand is not None
    assert [list(epoch.visitors.values()) for epoch in report.estimand.epochs] == [[1, 1], [1, 1], [0, 0]]
    assert [list(epoch.weights.values()) for epoch in report.estimand.epochs] == [[1, 1], [1, 3], [1, 1]]
    assert [one.conversions for one in report.goals[0].variants] == [1, 1]


def test_a_single_epoch_is_no_change() -> None:
    assert analysed(rows(), weight_epochs=[(FIRST, EVEN)]).estimand is None


@pytest.mark.parametrize(
    ("frame", "epochs", "message"),
    [
        (rows().drop("at"), [(FIRST, EVEN), (FIRST, MOVED)], "need a timestamp column"),
        (rows(), [(FIRST + timedelta(hours=1), EVEN), (FIRST, MOVED)], "each after the one before"),
        (rows(), [(FIRST.replace(tzinfo=None), EVEN)] * 2, "of a time zone"),
        (rows(), [(FIRST, EVEN), (FIRST, {"new": 1.0})], "say nothing of 'old'"),
    ],
)
def test_epochs_that_make_no_sense_are_refused(frame: pl.DataFrame, epochs: Any, message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        analysed(frame, weight_epochs=epochs)
