"""Order of funnel steps."""

import polars as pl
import pytest

from pipeline.rollup.goals.funnel_steps import split_in_order

# Letters are steps, `-` a refund of the last step; the place is the hour, and the exposure is in hour 4.
EXPOSED_AT = 4


def split(text: str, *, last_step: int = 2) -> tuple[list[int], list[int]]:
    """List the hours of the events that count, and the steps that are reached.

    Hours are apart by spaces, so that some have several events.
    """
    events = [
        ("abc".find(mark) if mark != "-" else last_step, hour, mark == "-")
        for hour, marks in enumerate(text.split(" "))
        for mark in marks
    ]
    frame = pl.DataFrame(
        events, {"step": pl.UInt8, "occurred_at": pl.Int64, "is_refund": pl.Boolean}, orient="row"
    ).with_columns(
        pl.lit(0).alias("experiment"),
        pl.lit(1).alias("visitor_key"),
        pl.lit(2).alias("goal"),
        pl.lit(last_step, pl.UInt8).alias("last_step"),
        pl.lit(EXPOSED_AT, pl.Int64).alias("first_exposed_at"),
    )
    # A longer funnel of another goal must change nothing, nor events of goals that are no funnel.
    found, reached = (part.collect() for part in split_in_order(frame.lazy(), last_step=5))
    assert found.columns == reached.columns == frame.columns
    plain = frame.with_columns(pl.lit(None, pl.UInt8).alias("step"))
    others, no_steps = split_in_order(plain.lazy(), last_step=5)
    assert (others.collect().height, no_steps.collect().height) == (frame.height, 0)
    assert set(found["step"]) <= {last_step}
    return sorted(found["occurred_at"].to_list()), sorted(reached["step"].to_list())


@pytest.mark.parametrize(
    ("text", "hours", "steps"),
    [
        ("    a b c c", [6, 7], [0, 1, 2]),
        # Equal times are in order.
        ("    cba", [4], [0, 1, 2]),
        ("    c b a", [], [0]),
        ("    b a c", [], [0]),
        # The second of a step may be the first in order.
        ("    c b a b c", [8], [0, 1, 2]),
        ("    a b - c", [6, 7], [0, 1, 2]),
        ("    a b -", [6], [0, 1]),
        # Steps of the pre-period are of a funnel of their own.
        ("a b   c", [], []),
        ("a b c  b c", [2], []),
        (" ", [], []),
    ],
)
def test_events_of_the_last_step_count_after_all_steps_before(
    text: str, hours: list[int], steps: list[int]
) -> None:
    assert split(text) == (hours, steps)


def test_a_refund_reaches_no_step() -> None:
    frame = pl.DataFrame(
        {
            "experiment": 0,
            "visitor_key": 1,
            "goal": 0,
            "step": [0, 1],
            "last_step": 1,
            "occurred_at": [5, 6],
            "first_exposed_at": 4,
            "is_refund": [True, False],
        }
    )
    assert [part.collect().height for part in split_in_order(frame.lazy(), 1)] == [0, 0]
    bought = frame.with_columns(is_refund=False)
    kept, reached = split_in_order(bought.lazy(), 1)
    assert kept.collect()["step"].to_list() == [1]
    assert reached.collect().sort("step")["occurred_at"].to_list() == [5, 6]
