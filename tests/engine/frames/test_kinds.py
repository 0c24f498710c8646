"""Goals of a DataFrame: kinds, and the options that a goal of each kind can have."""

import copy
import pickle
from typing import Any

import polars as pl
import pytest

from engine.analysis.results.report import Report
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import (
    KINDS,
    OPTIONS,
    Converted,
    Count,
    Funnel,
    Mean,
    Ratio,
    Retained,
    Revenue,
    Value,
    goals_of,
    require_kinds,
)

EVERY_KIND: tuple[FrameGoal, ...] = (
    *(Converted(), Revenue(), Count(), Value(), Mean(), Retained()),
    *(Ratio("clicks", "views"), Funnel("cart", "paid")),
)
OF_EVERY_KIND: dict[str, Any] = {
    "covariates": ("before", "country"),
    "guardrail": 2,
    "minimum_effect": 5,
    "less_is_better": True,
}


def test_a_list_of_goals_is_of_conversions_and_a_word_is_a_kind_without_options() -> None:
    assert goals_of(["a", "b"]) == {"a": Converted(), "b": Converted()}
    words: Any = {word: word for word in KINDS}
    assert goals_of(words) == {word: kind() for word, kind in KINDS.items()}
    assert goals_of({"a": Revenue(orders="n")}) == {"a": Revenue(orders="n")}


@pytest.mark.parametrize("goal", EVERY_KIND)
def test_a_goal_of_any_kind_has_the_options_of_all(goal: FrameGoal) -> None:
    full = goal.with_options(**OF_EVERY_KIND)
    assert full.options == OF_EVERY_KIND
    assert (
        full.with_options(guardrail=None, covariates=None, minimum_effect=None, less_is_better=False) == goal
    )
    assert full == copy.copy(full) == pickle.loads(pickle.dumps(full)) == eval(repr(full))  # noqa: S301, S307
    assert hash(full) == hash(copy.deepcopy(full))
    assert full.columns("it") == goal.columns("it")
    documented = type(goal).__doc__ or ""
    assert [name for name in OPTIONS if f"\n        {name}: " in documented] == [
        name for name in OPTIONS if hasattr(goal, name)
    ]


@pytest.mark.parametrize("goal", EVERY_KIND)
@pytest.mark.parametrize(
    ("option", "value", "kinds"),
    [
        ("cap_percentile", 99, (Revenue, Count, Value, Mean)),
        ("orders", "orders", (Revenue,)),
        ("currency", "EUR", (Revenue,)),
    ],
)
def test_an_option_of_other_kinds_is_refused(
    goal: FrameGoal, option: str, value: object, kinds: tuple[type[FrameGoal], ...]
) -> None:
    if isinstance(goal, kinds):
        assert goal.with_options(**{option: value}).options == {option: value}
        return
    with pytest.raises(InvalidEvidenceError, match=rf"^{type(goal).__name__} has no {option}: [^.]*$"):
        goal.with_options(**{option: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariates": []}, "covariates of Revenue are columns, one or a list of them, not \\[\\]"),
        ({"covariates": [7]}, "covariates of Revenue are columns"),
        ({"guardrail": -1}, "guardrail of Revenue is from 0 to 99 percent, not -1"),
        ({"guardrail": float("nan")}, "not nan"),
        ({"guardrail": "2"}, "not '2'"),
        ({"guardrail_absolute": -1}, "guardrail_absolute of Revenue is from 0 to 1e\\+12, not -1"),
        ({"guardrail": 2, "guardrail_absolute": 5}, "Revenue has one margin"),
        ({"minimum_effect": 0}, "minimum_effect of Revenue is from 0.1 to 1000 percent, not 0"),
        ({"less_is_better": "yes"}, "less_is_better of Revenue is true or false, not 'yes'"),
        ({"cap_percentile": 10}, "cap_percentile of Revenue is from 50 to 100 percent, not 10"),
        ({"orders": 3}, "orders of Revenue is a column, not 3"),
        ({"currency": "euro"}, "currency of Revenue is an ISO 4217 code such as 'EUR', not 'euro'"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        Revenue(**options)


def test_an_option_that_does_not_exist_is_refused_as_by_any_function() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'cap'"):
        Revenue(cap=99)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("goals", "message"),
    [
        ("bought", r"such as \['bought'\]"),
        ({1: "count"}, "the goal 1 is no text"),
        ({"bought": "conversion"}, "the kind 'conversion'; kinds are custom_event"),
        ({"bought": Revenue}, "the kind <class"),
        ({"bought": Converted(guardrail=2)}, "'bought' is the primary goal"),
        ({"bought": Converted(guardrail_absolute=2)}, "'bought' is the primary goal"),
        ({"spent": Revenue(covariates="spent")}, "'spent' is a covariate of 'spent'"),
    ],
)
def test_goals_that_make_no_sense_are_refused(goals: Any, message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        goals_of(goals)


def test_a_funnel_has_two_steps_of_their_own() -> None:
    for steps in ((), ("cart",), ("cart", "cart")):
        with pytest.raises(InvalidEvidenceError, match="two steps or more"):
            Funnel(*steps)


def test_a_goal_of_an_experiment_has_the_options() -> None:
    goal = Revenue(orders="n", cap_percentile=99, currency="EUR", guardrail=2, less_is_better=True)
    assert goal.in_experiment("spent", 1).config == {
        "event_name": "spent",
        "direction": "decrease",
        "cap_percentile": 99,
        "per": "order",
        "currency": "EUR",
        "guardrail_margin_percent": 2,
    }
    measures = [goal.in_experiment("it", 0).measure.word for goal in EVERY_KIND]
    assert measures == [
        *("converted", "converted", "count", "value", "value", "retained", "ratio", "funnel"),
    ]


def test_kinds_that_an_analysis_does_not_take_are_named() -> None:
    goals = goals_of({"a": "converted", "b": Ratio("x", "y")})
    require_kinds(goals, "it", Converted, Ratio)
    with pytest.raises(
        InvalidEvidenceError, match="it takes only goals of Converted: leave out 'b', which is"
    ):
        require_kinds(goals, "it", Converted)


def guarded(margin: float) -> Report:
    """20,000 visitors a variant, of whom 10% and 12% buy, and 50% and 45% return."""
    rows = [
        (arm, number < buyers, number % 100 < returning)
        for arm, buyers, returning in (("A", 2_000, 50), ("B", 2_400, 45))
        for number in range(20_000)
    ]
    frame = pl.DataFrame(rows, schema=["variant", "bought", "returned"], orient="row")
    goals = {"bought": Converted(), "returned": Converted(guardrail=margin)}
    return analyze_frame(frame, control="A", goals=goals)


def test_a_loss_beyond_the_margin_breaks_the_guardrail() -> None:
    broken, kept = guarded(2), guarded(20)
    assert broken.primary is not None
    assert kept.primary is not None
    assert (broken.primary.decision.reason, kept.primary.decision.reason) == ("guardrail_broken", None)


@pytest.mark.parametrize(
    ("profits", "margin", "action"),
    [
        # A mean of -1 has no percentage, so that a fall to -9 is not judged by one, and never ships.
        ((-1.0, -9.0), {"guardrail": 10}, ("review", "guardrail_unjudged")),
        ((0.0, -9.0), {"guardrail": 10}, ("review", "guardrail_broken")),
        ((0.0, 0.1), {"guardrail": 10}, ("review", "guardrail_unjudged")),
        ((-1.0, -9.0), {"guardrail": 0}, ("review", "guardrail_broken")),
        ((-1.0, -9.0), {"guardrail_absolute": 50}, ("review", "guardrail_broken")),
        ((-1.0, -1.2), {"guardrail_absolute": 50}, ("ship", None)),
        ((-1.0, -1.6), {"guardrail_absolute": 50}, ("ship", None)),
        ((5.0, 4.6), {"guardrail_absolute": 50}, ("ship", None)),
        ((5.0, 4.0), {"guardrail_absolute": 50}, ("review", "guardrail_broken")),
    ],
)
def test_a_mean_that_is_not_above_0_is_judged_by_an_absolute_margin(
    profits: tuple[float, float], margin: dict[str, Any], action: tuple[str, str | None]
) -> None:
    # Standard deviation 5, so that the error of the difference is 0.1.
    count, rows = 5_000, []
    for arm, buyers, profit in (("A", 500, profits[0]), ("B", 650, profits[1])):
        rows += [(arm, n < buyers, profit + (5.0 if n % 2 else -5.0)) for n in range(count)]
    frame = pl.DataFrame(rows, schema=["variant", "bought", "profit"], orient="row")
    goals = {"bought": Converted(), "profit": Revenue(**margin)}
    report = analyze_frame(frame, control="A", goals=goals)
    decision = report.goals[1].decision
    assert (decision.recommendation, decision.reason) == action
    if action[0] == "review":
        assert "No harm beyond the margin found" not in decision.headline
    if action[1] == "guardrail_unjudged":
        assert "of which no percentage is a margin" in decision.explanation
        assert "profit of 'A' is not above 0" in report.goals[0].decision.explanation


@pytest.mark.parametrize("is_lazy", [False, True])
def test_amounts_of_each_goal_are_in_minor_units_of_its_currency(*, is_lazy: bool) -> None:
    amounts = {"yen": [1200.0, 1300.0], "dinars": [1.234, 2.0], "euros": [3.0, 3.5]}
    frame = pl.DataFrame({"variant": ["A", "B"] * 50} | {name: two * 50 for name, two in amounts.items()})
    goals = {"yen": Revenue(currency="JPY"), "dinars": Revenue(currency="KWD"), "euros": Revenue()}
    report = analyze_frame(frame.lazy() if is_lazy else frame, control="A", goals=goals, currency="EUR")
    assert [[one.revenue.value for one in goal.variants] for goal in report.goals] == [
        *([1200, 1300], [1234, 2000], [300, 350]),
    ]
    assert [[one.metric.currency for one in goal.variants] for goal in report.goals] == [
        *(["JPY"] * 2, ["KWD"] * 2, ["EUR"] * 2),
    ]
    assert [one.decision.revenue_currency for one in report.goals] == ["JPY", "KWD", "EUR"]
