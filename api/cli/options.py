"""Options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from engine.frames.rows import GoalKind

GOAL_KINDS: dict[str, "GoalKind"] = {"": "custom_event", "conversion": "custom_event", "revenue": "revenue"}

DataDir = Annotated[Path, typer.Option("--data-dir", help="Folder of the store.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
VariantOption = Annotated[str | None, typer.Option("--variant", help="Column with the variant.")]
ControlOption = Annotated[str | None, typer.Option("--control", help="Name of the control variant.")]
GoalOption = Annotated[
    list[str] | None,
    typer.Option("--goal", help="Column of a goal: `bought` (1 or 0), or `spend:revenue` (an amount)."),
]
VisitorOption = Annotated[str | None, typer.Option("--visitor", help="Column with the visitor's id.")]
TimestampOption = Annotated[str | None, typer.Option("--timestamp", help="Column with the time, in UTC.")]
RunningOption = Annotated[
    bool, typer.Option("--running", help="The test goes on: judge it by its plan, and not as finished.")
]


def goal_columns(options: list[str] | None) -> "dict[str, GoalKind]":
    """Parse `["bought", "spend:revenue"]` into column → goal type; BadParameter."""
    goals: dict[str, GoalKind] = {}
    for option in options or ():
        column, _, kind = option.partition(":")
        if kind not in GOAL_KINDS or not column:
            raise typer.BadParameter(
                f"{option!r}: write a column, or a column and its kind, such as `spend:revenue`"
            )
        goals[column] = GOAL_KINDS[kind]
    if not goals:
        raise typer.BadParameter("name at least one goal, such as --goal converted")
    return goals


def required_control(control: str | None) -> str:
    """Return the control, which has no sensible default; BadParameter where it is missing."""
    if control is None:
        raise typer.BadParameter("name the control variant, such as --control A")
    return control
