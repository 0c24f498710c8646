"""Kinds of goals."""

import pytest

from engine.errors import InvalidEvidenceError
from engine.frames.kinds import Funnel, Ratio, columns_of, kinds_of, measure_of, require_plain


def test_a_list_of_goals_is_of_conversions() -> None:
    assert kinds_of(["a", "b"]) == {"a": "custom_event", "b": "custom_event"}
    assert kinds_of({"a": "revenue"}) == {"a": "revenue"}


def test_a_kind_of_goal_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="the kind 'conversion'; kinds are custom_event"):
        kinds_of({"bought": "conversion"})  # type: ignore[dict-item]


def test_goals_as_text_are_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match=r"such as \['bought'\]"):
        kinds_of("bought")


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="the goal 1 is no text"):
        kinds_of({1: "count"})  # type: ignore[dict-item]


def test_a_goal_has_a_measure_and_columns() -> None:
    goals = kinds_of(
        {"bought": "converted", "pages": "count", "load": "mean", "aov": Ratio("spend", "orders")}
    )
    assert [measure_of(kind) for kind in goals.values()] == ["converted", "count", "value", "ratio"]
    assert [columns_of(name, kind) for name, kind in goals.items()] == [
        ("bought",),
        ("pages",),
        ("load",),
        ("spend", "orders"),
    ]


def test_only_conversions_funnels_and_revenue_are_plain() -> None:
    require_plain({"a": "custom_event", "b": "revenue", "c": Funnel("x", "y")}, "it")
    for kind in ("count", "retained", Ratio("x", "y")):
        with pytest.raises(
            InvalidEvidenceError, match="it takes conversions, funnels and revenue: leave out"
        ):
            require_plain(kinds_of({"d": kind}), "it")
    require_plain({"d": Ratio("x", "y"), "e": "count"}, "it", besides=("count", "ratios"))
