"""Arguments that are options of goals now are refused with the new form."""

from typing import Any

import polars as pl
import pytest

from engine.frames import kinds
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Ratio, Revenue, goals_of
from engine.frames.segments import analyze_frame_segments

FRAME = pl.DataFrame(
    {
        "variant": ["A", "B"] * 40,
        "bought": [0, 1, 1, 0] * 20,
        "spent": [1.0, 2.5, 0.0, 4.0] * 20,
        "orders": [1, 1, 0, 2] * 20,
        "before": [3.0, 1.0, 2.0, 5.0] * 20,
    }
)
GOALS: dict[str, Any] = {"spent": "revenue", "bought": "converted", "each": Ratio("spent", "orders")}


@pytest.mark.parametrize(
    ("former", "verb", "form"),
    [
        ({"covariates": {"spent": "before"}}, "is now an option", "{'spent': Revenue(covariates='before')}"),
        (
            {"orders": {"spent": "orders"}, "caps": {"spent": 99}},
            "are now options",
            "{'spent': Revenue(orders='orders', cap_percentile=99)}",
        ),
        (
            {"guardrails": {"bought": 2, "each": 5}},
            "is now an option",
            "{'bought': Converted(guardrail=2), 'each': Ratio('spent', 'orders', guardrail=5)}",
        ),
        ({"less_is_better": ["bought"]}, "is now an option", "{'bought': Converted(less_is_better=True)}"),
        ({"currency": {"spent": "JPY"}}, "is now an option", "{'spent': Revenue(currency='JPY')}"),
        ({"caps": {}}, "is now an option", "{'spent': Revenue(cap_percentile=99)}"),
    ],
)
def test_the_new_form_is_written_out_and_works(former: dict[str, Any], verb: str, form: str) -> None:
    with pytest.raises(TypeError) as raised:
        analyze_frame(FRAME, control="A", goals=GOALS, **former)
    given = " and ".join(f"{name}={value!r}" for name, value in former.items())
    assert str(raised.value) == f"{given} {verb} of the goal: goals={form}"
    goals = {**GOALS, **eval(form, vars(kinds))}  # noqa: S307  # what a reader would copy
    assert analyze_frame(FRAME, control="A", goals=goals).goals


def test_segments_name_the_new_form_too() -> None:
    with pytest.raises(TypeError, match=r"goals={'bought': Converted\(less_is_better=True\)}"):
        analyze_frame_segments(
            FRAME,
            segments=["orders"],
            control="A",
            goals=["bought"],
            less_is_better=["bought"],  # type: ignore[call-arg]
        )


def test_options_that_a_goal_has_already_are_kept() -> None:
    goals = goals_of({"spent": Revenue(covariates="before")})
    with pytest.raises(TypeError, match=r"Revenue\(covariates='before', cap_percentile=95\)"):
        analyze_frame(FRAME, control="A", goals=goals, caps={"spent": 95})  # type: ignore[call-arg]


def test_goals_that_cannot_be_read_are_no_reason_for_another_error() -> None:
    with pytest.raises(TypeError, match=r"goals={'spent': Revenue\(cap_percentile=95\)}"):
        analyze_frame(FRAME, control="A", goals="spent", caps={"spent": 95})  # type: ignore[call-arg]


def test_other_arguments_that_do_not_exist_are_refused_as_by_any_function() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'covariate'"):
        analyze_frame(FRAME, control="A", goals=GOALS, covariate="before")  # type: ignore[call-arg]
