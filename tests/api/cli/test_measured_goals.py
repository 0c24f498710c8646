"""Goals of a file on the command line, as they are parsed."""

from typing import Any

import pytest
import typer

from api.cli.measured_goals import measured_goals, with_options
from engine.frames.kinds import Converted, Count, Funnel, Quantile, Ratio, Revenue


def test_a_goal_is_a_column_with_its_kind_or_a_name_with_its_columns() -> None:
    options = ["bought", "spend:revenue", "pages:count", "aov:ratio=spend/orders", "buy:funnel=cart,paid"]
    options += ["p90:quantile=load@2@0.9", "p95:event_quantile=load@0.95"]
    assert measured_goals(options) == {
        "bought": Converted(),
        "spend": Revenue(),
        "pages": Count(),
        "aov": Ratio("spend", "orders"),
        "buy": Funnel("cart", "paid"),
        "p90": Quantile("load@2", q=0.9),
        "p95": Quantile("load", q=0.95, of="event"),
    }


@pytest.mark.parametrize(("option", "message"), [
    ("spend:money", "has the kind 'money'"),
    (":revenue", "write a column"),
    ("aov:ratio=spend", "write a ratio as in"),
    ("aov:ratio", "has the kind 'ratio'"),
    ("buy:funnel=cart", "two steps or more"),
    ("p90:quantile=load", "write a quantile as in"),
    ("p90:quantile=load@high", "is not a share"),
    ("p90:quantile=load@90", "q of Quantile is from"),
])  # fmt: skip
def test_a_goal_that_cannot_be_read_is_refused_with_an_example(option: str, message: str) -> None:
    with pytest.raises(typer.BadParameter, match=message):
        measured_goals([option])


def test_at_least_one_goal_is_named() -> None:
    with pytest.raises(typer.BadParameter, match="at least one goal"):
        measured_goals(None)


def test_options_are_those_of_the_goals() -> None:
    goals = measured_goals(["bought", "spend:revenue", "aov:ratio=spend/orders"])
    given: dict[str, Any] = {
        "covariate": ["spend=before", "spend=country", "aov=before"],
        "orders": ["spend=orders"],
        "cap": ["spend=99.5"],
        "guardrail": ["aov=2"],
        "guardrail_absolute": ["spend=50"],
        "less_is_better": ["bought"],
    }
    assert with_options(goals, **given) == {
        "bought": Converted(less_is_better=True),
        "spend": Revenue(
            covariates=["before", "country"], orders="orders", cap_percentile=99.5, guardrail_absolute=50
        ),
        "aov": Ratio("spend", "orders", covariates=["before"], guardrail=2),
    }
    assert with_options(goals) == goals


@pytest.mark.parametrize(("option", "text", "message"), [
    ("cap", "bought=99", "Converted has no cap_percentile"),
    ("cap", "spent=99", "--cap names no goal: 'spent'; the goals are 'bought'"),
    ("less_is_better", "spent", "--less-is-better names no goal: 'spent'"),
    ("guardrail", "bought=100", "guardrail of Converted is from 0 to 99 percent, not 100"),
    ("guardrail_absolute", "bought=few", "'few' is not a margin; write it as in --guardrail-absolute"),
    ("covariate", "bought", "'bought' is not a goal with a value; write it as in --covariate"),
])  # fmt: skip
def test_an_option_that_does_not_fit_is_refused(option: str, text: str, message: str) -> None:
    given: dict[str, Any] = {option: [text]}
    with pytest.raises(typer.BadParameter, match=message):
        with_options(measured_goals(["bought"]), **given)
