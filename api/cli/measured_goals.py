"""Goals of a file on the command line: columns with their kinds and options, ratios and funnels."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.vocabulary import GuardrailRule

if TYPE_CHECKING:
    from engine.frames.frame_goal import FrameGoal
    from engine.frames.kinds import GoalMeasure

MeasuredGoalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        help="Column of a goal: `bought` (1 or 0), or with its kind: `spend:revenue`, `pages:count`,"
        " `score:value`, `load:mean`, `active:retained`; or a name: `aov:ratio=spend/orders`,"
        " `checkout:funnel=cart,paid`, `p90:quantile=load@0.9`, or `event_quantile` of all rows.",
    ),
]
CovariateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        help="`spend=spend_before`: column with the value before the experiment, or a category such as a"
        " country, for CUPED. Again for further columns of the goal.",
    ),
]
OrdersOption = Annotated[
    list[str] | None,
    typer.Option("--orders", help="`spend=orders`: analyze revenue per order; the column counts the orders."),
]
CapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cap", help="`spend=99`: cap amounts, counts or values at this percentile of those above 0."
    ),
]
LessIsBetterOption = Annotated[
    list[str] | None,
    typer.Option("--less-is-better", help="Goal to be lowered, such as errors; may be repeated."),
]
GuardrailOption = Annotated[
    list[str] | None,
    typer.Option(
        "--guardrail",
        help="`returns=2`: goal, not the first, that may lose no more than this percent of the control.",
    ),
]
GuardrailAbsoluteOption = Annotated[
    list[str] | None,
    typer.Option(
        "--guardrail-absolute",
        help="`profit=50`: the same in percentage points of a rate, cents of money, or the goal's own unit;"
        " also where the control's mean is not above 0.",
    ),
]
GuardrailRuleOption = Annotated[
    GuardrailRule,
    typer.Option(
        "--guardrail-rule",
        help="not_harmed: no guardrail is shown to lose more than its margin. non_inferior: each must be"
        " shown to lose no more.",
    ),
]
_EXAMPLES = "`spend:revenue`, `aov:ratio=spend/orders` or `checkout:funnel=cart,paid`"


def measured_goals(options: list[str] | None) -> "dict[str, FrameGoal]":
    """Parse `["bought", "pages:count", "aov:ratio=spend/orders"]` into name → goal; BadParameter."""
    from engine.errors import InvalidEvidenceError
    from engine.frames.kinds import goals_of

    goals: dict[str, FrameGoal] = {}
    for option in options or ():
        name, _, kind = option.partition(":")
        if not name:
            raise typer.BadParameter(
                f"{option!r}: write a column, or a name and its kind, such as {_EXAMPLES}"
            )
        try:
            goals |= goals_of({name: _measure(option, kind)})
        except InvalidEvidenceError as unknown:
            raise typer.BadParameter(f"{unknown}; write it as in {_EXAMPLES}") from unknown
    if not goals:
        raise typer.BadParameter("name at least one goal, such as --goal converted")
    return goals


def with_options(
    goals: "dict[str, FrameGoal]",
    *,
    covariate: list[str] | None = None,
    orders: list[str] | None = None,
    cap: list[str] | None = None,
    guardrail: list[str] | None = None,
    guardrail_absolute: list[str] | None = None,
    guardrail_rule: GuardrailRule = "not_harmed",
    less_is_better: list[str] | None = None,
) -> "dict[str, FrameGoal]":
    """Return the goals with the options of the command line; BadParameter for those that do not fit."""
    from engine.errors import InvalidEvidenceError

    options: dict[str, dict[str, Any]] = {name: {} for name in goals}
    for goal, column in _pairs("--covariate", covariate, "spend=spend_before", goals):
        options[goal].setdefault("covariates", []).append(column)
    for goal, column in _pairs("--orders", orders, "spend=orders", goals):
        options[goal]["orders"] = column
    for goal, text in _pairs("--cap", cap, "spend=99", goals):
        options[goal]["cap_percentile"] = _number(text, "a percentile", "--cap spend=99")
    for goal, text in _pairs("--guardrail", guardrail, "returns=2", goals):
        options[goal]["guardrail"] = _number(text, "a margin in percent", "--guardrail returns=2")
    for goal, text in _pairs("--guardrail-absolute", guardrail_absolute, "profit=50", goals):
        example = "--guardrail-absolute profit=50"
        options[goal]["guardrail_absolute"] = _number(text, "a margin", example)
    for goal in less_is_better or ():
        options[_known(goal, "--less-is-better", goals)]["less_is_better"] = True
    if guardrail_rule == "non_inferior" and not (guardrail or guardrail_absolute):
        raise typer.BadParameter(
            "--guardrail-rule non_inferior is about guardrails: name one, such as --guardrail returns=2"
        )
    try:
        return {name: goal.with_options(**options[name]) for name, goal in goals.items()}
    except InvalidEvidenceError as refused:
        raise typer.BadParameter(str(refused)) from refused


def _measure(option: str, kind: str) -> "GoalMeasure":
    """Parse the kind of a goal; a plain word is checked by `goals_of`."""
    from engine.frames.kinds import Funnel, Quantile, Ratio

    word, equals, columns = kind.partition("=")
    if word == "ratio" and equals:
        numerator, slash, denominator = columns.partition("/")
        if not (numerator and slash and denominator):
            raise typer.BadParameter(f"{option!r}: write a ratio as in `aov:ratio=spend/orders`")
        return Ratio(numerator, denominator)
    if word == "funnel" and equals:
        return Funnel(*(step for step in columns.split(",") if step))
    if word in {"quantile", "event_quantile"} and equals:
        column, at, share = columns.rpartition("@")
        if not (column and at):
            raise typer.BadParameter(f"{option!r}: write a quantile as in `p90:quantile=seconds@0.9`")
        q = _number(share, "a share", "--goal p90:quantile=seconds@0.9")
        return Quantile(column, q=q, of="visitor" if word == "quantile" else "event")
    return "converted" if kind in {"", "conversion"} else kind  # type: ignore[return-value]  # checked by caller


def _pairs(
    option: str, given: list[str] | None, example: str, goals: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield the goal and value of `GOAL=VALUE` texts; BadParameter."""
    for text in given or ():
        goal, equals, value = text.partition("=")
        if not (goal and equals and value):
            raise typer.BadParameter(
                f"{text!r} is not a goal with a value; write it as in {option} {example}"
            )
        yield _known(goal, option, goals), value


def _known(goal: str, option: str, goals: Iterable[str]) -> str:
    if goal not in goals:
        names = ", ".join(map(repr, goals))
        raise typer.BadParameter(f"{option} names no goal: {goal!r}; the goals are {names}")
    return goal


def _number(text: str, what: str, example: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {what}; write it as in {example}") from None
