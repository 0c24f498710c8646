"""Kinds of goals in a DataFrame: conversions, amounts, counts, values, ratios, retention and funnels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar, Final, Literal

from engine.currencies import CURRENCIES
from engine.design.goals import CONFIG_KEYS
from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.vocabulary import GoalType, QuantileOf, words

GoalKind = Literal["custom_event", "revenue"]
ColumnKind = Literal["custom_event", "converted", "revenue", "count", "value", "mean", "retained"]

# Texts of help(), by option.
OPTIONS: Final[Mapping[str, str]] = {
    "covariates": "column of the visitor's value from before the experiment (null where unknown) for CUPED,"
    "\n            or a list of several; text is a category at the first exposure, such as a country",
    "guardrail": "acceptable loss in percent of the control (0 to 99): a test that loses more is rolled back"
    "\n            or reviewed; not for the primary goal",
    "guardrail_absolute": "instead of `guardrail`, also where the control's mean is not above 0: acceptable"
    "\n            loss in percentage points of rates, cents (minor units) of money, or the goal's own unit",
    "minimum_effect": "smallest relevant lift in percent of the control (0.1 to 1000); by default that of"
    "\n            the analysis' `statistics`",
    "less_is_better": "whether the goal is to be lowered",
    "window": "days from the first exposure after which an outcome is known, which the plan of a running"
    "\n            test waits for",
    "known": "column that is true where the visitor's outcome is known: only those visitors are compared",
    "cap_percentile": "percentile (50 to 100) of the values above 0, at which visitors' values are capped",
    "orders": "column that counts the orders in a row: the goal is compared as revenue per order",
    "currency": "ISO 4217 code of the amounts; by default that of the analysis",
    "q": "share of the visitors below the quantile, 0.001 to 0.999: 0.5 is the median",
    "of": "'visitor' for what a visitor's rows add up to (default), 'event' for the value of each row",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _CappedGoal(FrameGoal):
    cap_percentile: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Converted(FrameGoal):
    """Conversions: 1 or 0, true or false; a visitor converts with a 1 in any row."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Revenue(_CappedGoal):
    """Amounts of money in major units, such as dollars, added up by visitor."""

    goal_type: ClassVar[GoalType] = "revenue"

    orders: str | None = None
    currency: str | None = None

    def __post_init__(self) -> None:
        """Raise InvalidEvidenceError for a value that an option cannot have."""
        FrameGoal.__post_init__(self)
        if self.orders is not None and not (isinstance(self.orders, str) and self.orders):
            raise InvalidEvidenceError(f"orders of Revenue is a column, not {self.orders!r}")
        if self.currency is not None and self.currency not in CURRENCIES:
            raise InvalidEvidenceError(
                f"currency of Revenue is an ISO 4217 code such as 'EUR', not {self.currency!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Count(_CappedGoal):
    """Whole numbers from 0 on, added up by visitor."""

    measure: ClassVar[str] = "count"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Value(_CappedGoal):
    """Any numbers in a unit of their own, added up by visitor."""

    measure: ClassVar[str] = "value"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Mean(_CappedGoal):
    """Any numbers, of which a visitor has the mean of its rows; visitors without a number are left out."""

    measure: ClassVar[str] = "value"
    may_be_unknown: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Retained(FrameGoal):
    """Retention: 1 or 0, and null while it is not known yet; such visitors are left out."""

    measure: ClassVar[str] = "retained"
    may_be_unknown: ClassVar[bool] = True

    def _days(self) -> dict[str, int | None]:
        """Return the last day of retention, with which the window ends."""
        last = None if self.window is None else max(self.window - 1, 1)
        return {"from_day": last, "to_day": last}


@dataclass(frozen=True, slots=True, repr=False)
class Ratio(FrameGoal):
    """A ratio of two columns: the sum of `numerator` over the sum of `denominator`, in every variant.

    Such as revenue per order, or clicks per page view. Its error is the delta method's, by visitor.
    """

    measure: ClassVar[str] = "ratio"

    numerator: str
    denominator: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns above and below the line."""
        return self.numerator, self.denominator


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Funnel(FrameGoal):
    """Ordered steps, each a column: a visitor is at a step once all steps before it are done, in order.

    The columns are all true or false (or 1 and 0), in the order of the rows' times where there are any, or
    all times of the step, null where it was not done. The goal is the last step.
    """

    measure: ClassVar[str] = "funnel"

    steps: tuple[str, ...]

    def __init__(  # noqa: PLR0913  # the options of every kind
        self,
        *steps: str,
        covariates: str | Sequence[str] | None = None,
        guardrail: float | None = None,
        guardrail_absolute: float | None = None,
        minimum_effect: float | None = None,
        less_is_better: bool = False,
        window: int | None = None,
        known: str | None = None,
    ) -> None:
        """Raise InvalidEvidenceError for less than two steps, or one that is named twice."""
        if len(steps) < 2 or len(set(steps)) < len(steps):
            raise InvalidEvidenceError(
                "a funnel has two steps or more, each a column of its own, such as Funnel('cart', 'paid')"
            )
        FrameGoal.__init__(
            self,
            covariates=covariates,
            guardrail=guardrail,
            guardrail_absolute=guardrail_absolute,
            minimum_effect=minimum_effect,
            less_is_better=less_is_better,
            window=window,
            known=known,
        )
        object.__setattr__(self, "steps", steps)

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns of the steps."""
        return self.steps


@dataclass(frozen=True, slots=True, repr=False)
class Quantile(FrameGoal):
    """A quantile of a column, added up by visitor or of all rows; those without a number are left out.

    Such as the median time, or the 90% quantile. Values are counted in buckets of 1%, small whole numbers
    exactly, and compared as by `truelift.analyze_quantiles`; those of all rows with visitors as the unit.
    A column of lists has several values a row.
    """

    measure: ClassVar[str] = "quantile"
    may_be_unknown: ClassVar[bool] = True

    column: str
    q: float = field(kw_only=True)
    of: QuantileOf = field(kw_only=True, default="visitor")

    def __post_init__(self) -> None:
        """Raise InvalidEvidenceError for a value that an option cannot have."""
        FrameGoal.__post_init__(self)
        if self.covariates is not None:
            raise InvalidEvidenceError("Quantile has no covariates: CUPED adjusts means")
        if self.of not in words(QuantileOf):
            raise InvalidEvidenceError(f"of of Quantile is 'visitor' or 'event', not {self.of!r}")
        limits = CONFIG_KEYS["custom_event"]["q"].schema
        low, high = limits["minimum"], limits["maximum"]
        given: object = self.q
        if not (isinstance(given, Real) and low <= float(given) <= high):
            raise InvalidEvidenceError(
                f"q of Quantile is from {low:g} to {high:g}, 0.5 for the median; not {self.q!r}"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)


# A goal of one column is named like it; others have a name of their own.
GoalMeasure = ColumnKind | FrameGoal
Goals = Mapping[str, GoalMeasure] | Sequence[str]

KINDS: Final[Mapping[str, type[FrameGoal]]] = {
    "custom_event": Converted,
    "converted": Converted,
    "revenue": Revenue,
    "count": Count,
    "value": Value,
    "mean": Mean,
    "retained": Retained,
}

for _kind in {*KINDS.values(), Ratio, Funnel, Quantile}:
    _left_out = {"covariates"} if _kind is Quantile else set[str]()
    _named = (option.name for option in fields(_kind) if option.kw_only and option.name not in _left_out)
    _lines = (f"\n        {name}: {OPTIONS[name]}" for name in _named)
    _kind.__doc__ = f"{_kind.__doc__}\n\n    Options:{''.join(_lines)}"


def goals_of(goals: Goals) -> dict[str, FrameGoal]:
    """Map the names of goals to goals; a plain list is of conversions, and a word is a kind without options.

    Raises InvalidEvidenceError for a kind that does not exist, a primary goal that is a guardrail, and a
    covariate that is a column of its goal.
    """
    if isinstance(goals, str):
        raise InvalidEvidenceError(f"goals is text; give a list of columns, such as [{goals!r}]")
    kinds: Mapping[str, Any] = goals if isinstance(goals, Mapping) else dict.fromkeys(goals, "converted")
    found = {name: _goal(name, kind) for name, kind in kinds.items()}
    for place, (name, goal) in enumerate(found.items()):
        if place == 0 and goal.is_guardrail:
            raise InvalidEvidenceError(
                f"{name!r} is the primary goal, which is to win: it can be no guardrail; put another first"
            )
        for column in {*goal.columns(name), goal.order_column}.intersection(goal.covariate_columns):
            raise InvalidEvidenceError(
                f"{column!r} is a covariate of {name!r} and what it is counted from; a covariate is known "
                "before the first exposure, such as the same number of the weeks before"
            )
    return found


def _goal(name: object, kind: object) -> FrameGoal:
    if not isinstance(name, str):
        raise InvalidEvidenceError(f"the goal {name!r} is no text; columns and goals are named by text")
    if isinstance(kind, FrameGoal):
        return kind
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidEvidenceError(
            f"the goal {name!r} has the kind {kind!r}; kinds are {', '.join(KINDS)}, and those with options, "
            "such as Revenue(cap_percentile=99), Ratio('clicks', 'views') or Funnel('cart', 'paid')"
        )
    return KINDS[kind]()


def require_kinds(goals: Mapping[str, FrameGoal], purpose: str, *kinds: type[FrameGoal]) -> None:
    """Raise InvalidEvidenceError unless all goals are of the kinds."""
    for name, goal in goals.items():
        if not isinstance(goal, kinds):
            words = ", ".join(kind.__name__ for kind in kinds)
            raise InvalidEvidenceError(
                f"{purpose} takes only goals of {words}: leave out {name!r}, which is {type(goal).__name__}"
            )


def require_unadjusted(goals: Mapping[str, FrameGoal], reason: str) -> None:
    """Raise InvalidEvidenceError with the reason where a goal has covariates, orders or a cap."""
    for name, goal in goals.items():
        if goal.is_adjusted:
            raise InvalidEvidenceError(f"{reason}; leave them out of {name!r}")
