"""Funnels: steps count in order, by flags, by the times of rows, or by their own times."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from statsmodels.stats.proportion import proportions_ztest

from engine.analysis.results.variant_result import VariantResult
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Funnel

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GOAL = {"checkout": Funnel("cart", "pay", "done")}


def steps(variant: VariantResult) -> list[int]:
    assert variant.details.steps is not None
    assert [step.name for step in variant.details.steps] == ["cart", "pay", "done"]
    return [step.visitors for step in variant.details.steps]


def funnel(df: pl.DataFrame, **more: Any) -> tuple[VariantResult, VariantResult]:
    control, variant = analyze_frame(df, control="A", goals=GOAL, **more).goals[0].variants
    return control, variant


def test_a_visitor_is_at_a_step_only_if_all_earlier_steps_are_done() -> None:
    df = pl.DataFrame(
        {
            "variant": ["A", "A", "A", "B", "B"],
            "cart": [1, 1, 0, 1, 1],
            "pay": [1, 0, 1, 1, 1],
            "done": [1, 1, 1, 1, 0],
        }
    )
    control, variant = funnel(df)
    assert (steps(control), steps(variant)) == ([2, 1, 1], [2, 2, 1])
    assert (control.conversions, variant.conversions) == (1, 1)


def test_flags_of_several_rows_are_in_the_order_of_their_times() -> None:
    hour = timedelta(hours=1)
    rows = [
        ("a", "A", 0, "cart"), ("a", "A", 1, "pay"), ("a", "A", 2, "done"),
        # Paid before the cart, and never again.
        ("b", "A", 0, "pay"), ("b", "A", 1, "cart"), ("b", "A", 2, "done"),
        # Done early, and again after paying.
        ("c", "B", 0, "done"), ("c", "B", 1, "cart"), ("c", "B", 2, "pay"), ("c", "B", 3, "done"),
    ]  # fmt: skip
    df = pl.DataFrame(
        [
            {"who": who, "variant": arm, "at": NOON + at * hour}
            | {step: step == did for step in ("cart", "pay", "done")}
            for who, arm, at, did in rows
        ]
    )
    control, variant = funnel(df, visitor="who", timestamp="at")
    assert (steps(control), steps(variant)) == ([2, 1, 1], [1, 1, 1])
    # Without times only the steps themselves are known.
    control, variant = funnel(df, visitor="who")
    assert (steps(control), steps(variant)) == ([2, 2, 2], [1, 1, 1])


@pytest.mark.parametrize("as_text", [False, True])
def test_steps_can_be_times_of_their_own(*, as_text: bool) -> None:
    hour = timedelta(hours=1)
    times = {
        "cart": [NOON, NOON, NOON, None],
        "pay": [NOON + hour, NOON - hour, NOON, NOON],
        "done": [NOON + 2 * hour, NOON + hour, NOON, NOON],
    }
    df = pl.DataFrame({"variant": ["A", "A", "B", "B"], **times})
    if as_text:
        df = df.with_columns(pl.col("cart", "pay", "done").dt.to_string("iso"))
    control, variant = funnel(df)
    assert (steps(control), steps(variant)) == ([2, 1, 1], [1, 1, 1])


def test_the_goal_is_the_last_step_judged_as_a_conversion() -> None:
    done, n = [90, 130], [1_000, 1_000]
    df = pl.concat(
        [
            pl.DataFrame({"cart": [True] * n[arm], "pay": [True] * n[arm]}).with_columns(
                variant=pl.lit("AB"[arm]), done=pl.int_range(n[arm]) < done[arm]
            )
            for arm in (0, 1)
        ]
    )
    _, variant = funnel(df)
    assert variant.p_value == pytest.approx(proportions_ztest(done, n)[1], rel=1e-9)
    assert variant.conversions == 130


@pytest.mark.parametrize(("change", "message"), [
    (pl.lit(NOON).alias("pay"), "of two kinds: make all of them times"),
    (pl.lit("soon").alias("pay"), "of two kinds"),
    (pl.lit("soon").alias("all"), "holds text that is no time"),
])  # fmt: skip
def test_steps_of_two_kinds_and_text_that_is_no_time_are_refused(change: pl.Expr, message: str) -> None:
    df = pl.DataFrame({"variant": ["A", "B"], "cart": [1, 1], "pay": [1, 1], "done": [1, 0]})
    name = change.meta.output_name()
    texts = [change.alias(step) for step in ("cart", "pay", "done")] if name == "all" else [change]
    with pytest.raises(InvalidEvidenceError, match=message):
        funnel(df.with_columns(texts))


@pytest.mark.parametrize("names", [(), ("cart",), ("cart", "cart")])
def test_a_funnel_has_two_different_steps_or_more(names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidEvidenceError, match="two steps or more"):
        Funnel(*names)
