import polars as pl
import pytest

from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.currency import currency_of
from engine.frames.kinds import GoalMeasure

VISITORS = pl.DataFrame(
    {"variant": ["A", "B"] * 50, "yen": [1200.0, 1300.0] * 50, "dinars": [1.234, 2.0] * 50}
)
GOALS: dict[str, GoalMeasure] = {"yen": "revenue", "dinars": "revenue"}


def test_a_goal_has_its_own_currency_or_the_one_of_all() -> None:
    assert (currency_of("a", "EUR"), currency_of("a", {"a": "JPY"}), currency_of("b", {"a": "JPY"})) == (
        *("EUR", "JPY", "USD"),
    )


@pytest.mark.parametrize("is_lazy", [False, True])
def test_amounts_of_each_goal_are_in_minor_units_of_its_currency(*, is_lazy: bool) -> None:
    frame = VISITORS.lazy() if is_lazy else VISITORS
    report = analyze_frame(frame, control="A", goals=GOALS, currency={"yen": "JPY", "dinars": "KWD"})
    yen, dinars = report.goals
    assert [one.revenue_per_visitor_cents for one in yen.variants] == [1200, 1300]
    assert [one.revenue_per_visitor_cents for one in dinars.variants] == [1234, 2000]
    assert [one.currency for one in (*yen.variants, *dinars.variants)] == ["JPY", "JPY", "KWD", "KWD"]
    assert [one.decision.revenue_currency for one in report.goals] == ["JPY", "KWD"]


def test_a_currency_of_no_goal_is_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="currency names no goals: 'yens'"):
        analyze_frame(VISITORS, control="A", goals=GOALS, currency={"yens": "JPY"})
