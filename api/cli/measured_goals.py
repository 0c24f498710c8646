"""Goals of a file on the command line: columns with their kinds, ratios and funnels."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from engine.frames.kinds import GoalMeasure

MeasuredGoalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        help="Column of a goal: `bought` (1 or 0), or with its kind: `spend:revenue`, `pages:count`,"
        " `score:value`, `load:mean`, `active:retained`; or a name: `aov:ratio=spend/orders`,"
        " `checkout:funnel=cart,paid`.",
    ),
]
_EXAMPLES = "`spend:revenue`, `aov:ratio=spend/orders` or `checkout:funnel=cart,paid`"


def measured_goals(options: list[str] | None) -> "dict[str, GoalMeasure]":
    """Parse `["bought", "pages:count", "aov:ratio=spend/orders"]` into name → kind; BadParameter."""
    from engine.errors import InvalidEvidenceError
    from engine.frames.kinds import kinds_of

    goals: dict[str, GoalMeasure] = {}
    for option in options or ():
        name, _, kind = option.partition(":")
        if not name:
            raise typer.BadParameter(
                f"{option!r}: write a column, or a name and its kind, such as {_EXAMPLES}"
            )
        try:
            goals |= kinds_of({name: _measure(option, kind)})
        except InvalidEvidenceError as unknown:
            raise typer.BadParameter(f"{unknown}; write it as in {_EXAMPLES}") from unknown
    if not goals:
        raise typer.BadParameter("name at least one goal, such as --goal converted")
    return goals


def _measure(option: str, kind: str) -> "GoalMeasure":
    """Parse the kind of a goal; a plain word is checked by `kinds_of`."""
    from engine.frames.kinds import Funnel, Ratio

    word, equals, columns = kind.partition("=")
    if word == "ratio" and equals:
        numerator, slash, denominator = columns.partition("/")
        if not (numerator and slash and denominator):
            raise typer.BadParameter(f"{option!r}: write a ratio as in `aov:ratio=spend/orders`")
        return Ratio(numerator, denominator)
    if word == "funnel" and equals:
        return Funnel(*(step for step in columns.split(",") if step))
    return "converted" if kind in {"", "conversion"} else kind  # type: ignore[return-value]  # checked by caller
