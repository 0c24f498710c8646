"""Kinds of goals in a DataFrame: conversions, amounts, counts, values, ratios, retention and funnels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from engine.errors import InvalidEvidenceError
from engine.vocabulary import GoalType, MeasureWord

GoalKind = Literal["custom_event", "revenue"]
ColumnKind = Literal["custom_event", "converted", "revenue", "count", "value", "mean", "retained"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two columns: the sum of `numerator` over the sum of `denominator`, in every variant.

    Such as revenue per order, or clicks per page view. Its error is the delta method's, by visitor.
    """

    numerator: str
    denominator: str


@dataclass(frozen=True, slots=True, init=False)
class Funnel:
    """Ordered steps, each a column: a visitor is at a step once all steps before it are done, in order.

    The columns are all true or false (or 1 and 0), in the order of the rows' times where there are any, or
    all times of the step, null where it was not done. The goal is the last step.
    """

    steps: tuple[str, ...]

    def __init__(self, *steps: str) -> None:
        """Raise InvalidEvidenceError for less than two steps, or one that is named twice."""
        if len(steps) < 2 or len(set(steps)) < len(steps):
            raise InvalidEvidenceError(
                "a funnel has two steps or more, each a column of its own, such as Funnel('cart', 'paid')"
            )
        object.__setattr__(self, "steps", steps)


# A goal of one column is named like it; others have a name of their own.
GoalMeasure = ColumnKind | Ratio | Funnel
Goals = Mapping[str, GoalMeasure] | Sequence[str]

_MEASURES: Mapping[str, MeasureWord] = {
    "count": "count",
    "value": "value",
    "mean": "value",
    "retained": "retained",
}
# Kinds that are a share of visitors whose outcome each of them has.
_SHARES = ("custom_event", "retained")


def kinds_of(goals: Goals) -> Mapping[str, GoalMeasure]:
    """Map goals to their kinds; a plain list of goals is of conversions, and `converted` is `custom_event`.

    Raises InvalidEvidenceError for a kind that does not exist.
    """
    if isinstance(goals, str):
        raise InvalidEvidenceError(f"goals is text; give a list of columns, such as [{goals!r}]")
    kinds: Mapping[str, Any] = goals if isinstance(goals, Mapping) else dict.fromkeys(goals, "custom_event")
    return {name: _checked(name, kind) for name, kind in kinds.items()}


def _checked(name: object, kind: object) -> GoalMeasure:
    if not isinstance(name, str):
        raise InvalidEvidenceError(f"the goal {name!r} is no text; columns and goals are named by text")
    if isinstance(kind, Ratio | Funnel):
        return kind
    words = get_args(ColumnKind)
    found = next((word for word in words if word == kind), None)
    if found is None:
        raise InvalidEvidenceError(
            f"the goal {name!r} has the kind {kind!r}; kinds are {', '.join(words)}, Ratio and Funnel"
        )
    return "custom_event" if found == "converted" else found


def columns_of(name: str, kind: GoalMeasure) -> tuple[str, ...]:
    """List the columns of a goal."""
    if isinstance(kind, Ratio):
        return kind.numerator, kind.denominator
    return kind.steps if isinstance(kind, Funnel) else (name,)


def is_share(kind: GoalMeasure) -> bool:
    """Tell whether the goal is judged on a share of visitors."""
    return isinstance(kind, Funnel) or kind in _SHARES


def goal_type_of(kind: GoalMeasure) -> GoalType:
    """Return the type of the goal of an experiment."""
    return "revenue" if kind == "revenue" else "custom_event"


def measure_of(kind: GoalMeasure) -> MeasureWord:
    """Return the measure of the goal of an experiment."""
    if isinstance(kind, Ratio | Funnel):
        return "ratio" if isinstance(kind, Ratio) else "funnel"
    return _MEASURES.get(kind, "converted")


def require_plain(kinds: Mapping[str, GoalMeasure], purpose: str, *, besides: Sequence[str] = ()) -> None:
    """Raise InvalidEvidenceError unless all goals are conversions, funnels or revenue, or `besides`.

    Those are words of kinds, and "ratios".
    """
    plain = (Funnel, Ratio) if "ratios" in besides else Funnel
    for name, kind in kinds.items():
        if not (kind in {*get_args(GoalKind), *besides} or isinstance(kind, plain)):
            more = "".join(f", {each}" for each in besides)
            raise InvalidEvidenceError(
                f"{purpose} takes conversions, funnels and revenue{more}: leave out {name!r}, which is of the"
                f" kind {kind if isinstance(kind, str) else 'ratio'}"
            )
