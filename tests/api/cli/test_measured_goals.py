"""Goals of a file on the command line, as they are parsed."""

import pytest
import typer

from api.cli.measured_goals import measured_goals
from engine.frames.kinds import Funnel, Ratio


def test_a_goal_is_a_column_with_its_kind_or_a_name_with_its_columns() -> None:
    options = ["bought", "spend:revenue", "pages:count", "aov:ratio=spend/orders", "buy:funnel=cart,paid"]
    assert measured_goals(options) == {
        "bought": "custom_event",
        "spend": "revenue",
        "pages": "count",
        "aov": Ratio("spend", "orders"),
        "buy": Funnel("cart", "paid"),
    }


@pytest.mark.parametrize(("option", "message"), [
    ("spend:money", "has the kind 'money'"),
    (":revenue", "write a column"),
    ("aov:ratio=spend", "write a ratio as in"),
    ("aov:ratio", "has the kind 'ratio'"),
    ("buy:funnel=cart", "two steps or more"),
])  # fmt: skip
def test_a_goal_that_cannot_be_read_is_refused_with_an_example(option: str, message: str) -> None:
    with pytest.raises(typer.BadParameter, match=message):
        measured_goals([option])


def test_at_least_one_goal_is_named() -> None:
    with pytest.raises(typer.BadParameter, match="at least one goal"):
        measured_goals(None)
