"""Options that several commands share, as they are parsed."""

import pytest
import typer

from api.cli.options import goal_columns, required_control


def test_a_goal_is_a_column_with_or_without_a_kind() -> None:
    assert goal_columns(["bought", "spend:revenue", "signed_up:conversion"]) == {
        "bought": "custom_event",
        "spend": "revenue",
        "signed_up": "custom_event",
    }


@pytest.mark.parametrize("options", [None, [], ["spend:money"], [":revenue"]])
def test_goals_without_a_column_or_with_an_unknown_kind_are_refused(options: list[str] | None) -> None:
    with pytest.raises(typer.BadParameter):
        goal_columns(options)


def test_a_control_is_required() -> None:
    assert required_control("A") == "A"
    with pytest.raises(typer.BadParameter, match="--control"):
        required_control(None)
