"""Goal of a DataFrame, with the options of every kind and their limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Final, Self

from engine.design.goal import Goal
from engine.design.goals import CONFIG_KEYS
from engine.errors import InvalidEvidenceError
from engine.measures.measure_table import measure_of
from engine.validation.values import whole
from engine.vocabulary import GoalType

# Options with the key of a goal's config whose limits are theirs; in percent, but for the absolute margin.
_LIMITED: Final[Mapping[str, str]] = {
    "guardrail": "guardrail_margin_percent",
    "guardrail_absolute": "guardrail_margin_absolute",
    "minimum_effect": "minimum_effect_percent",
    "cap_percentile": "cap_percentile",
}
_WINDOW: Final = whole(1, 365)
# Options that only some kinds have, with what is said of the others.
_OF_SOME_KINDS: Final = {
    "cap_percentile": "a cap is for amounts, counts and values (Revenue, Count, Value and Mean)",
    "orders": "only Revenue is compared per order; make it a ratio, such as Ratio('clicks', 'views')",
    "currency": "only Revenue is money",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FrameGoal:
    """A goal of a DataFrame, with the options of every kind."""

    goal_type: ClassVar[GoalType] = "custom_event"
    measure: ClassVar[str] = "converted"
    # Whether a visitor may have no outcome, and is left out then.
    may_be_unknown: ClassVar[bool] = False

    covariates: str | Sequence[str] | None = None
    guardrail: float | None = None
    guardrail_absolute: float | None = None
    minimum_effect: float | None = None
    less_is_better: bool = False
    window: int | None = None
    known: str | None = None

    def __new__(cls, *_: object, **options: object) -> Self:
        """Raise InvalidEvidenceError for an option of other kinds; others are refused as by any function."""
        own = {field.name for field in fields(cls)}
        for option, reason in _OF_SOME_KINDS.items():
            if option in options and option not in own:
                raise InvalidEvidenceError(f"{cls.__name__} has no {option}: {reason}")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        """Raise InvalidEvidenceError for a value that an option cannot have."""
        name = type(self).__name__
        if self.covariates is not None:
            given = self.covariates if isinstance(self.covariates, str) else tuple(self.covariates)
            if not given or not all(isinstance(column, str) for column in given):
                raise InvalidEvidenceError(
                    f"covariates of {name} are columns, one or a list of them, not {self.covariates!r}"
                )
            object.__setattr__(self, "covariates", given)
        if not isinstance(self.less_is_better, bool):
            raise InvalidEvidenceError(
                f"less_is_better of {name} is true or false, not {self.less_is_better!r}"
            )
        if self.window is not None and list(_WINDOW(self.window)):
            raise InvalidEvidenceError(f"window of {name} is 1 to 365 whole days, not {self.window!r}")
        if self.known is not None and self.may_be_unknown:
            raise InvalidEvidenceError(f"{name} has no known: a missing value is not known yet")
        if self.known is not None and not (isinstance(self.known, str) and self.known):
            raise InvalidEvidenceError(f"known of {name} is a column, not {self.known!r}")
        for option, key in _LIMITED.items():
            value, limits = getattr(self, option, None), CONFIG_KEYS["revenue"][key].schema
            low, high = limits["minimum"], limits["maximum"]
            if value is not None and not (isinstance(value, Real) and low <= float(value) <= high):
                unit = " percent" if key != "guardrail_margin_absolute" else ""
                raise InvalidEvidenceError(
                    f"{option} of {name} is from {low:g} to {high:g}{unit}, not {value!r}"
                )
        if None not in {self.guardrail, self.guardrail_absolute}:
            raise InvalidEvidenceError(f"{name} has one margin: give guardrail or guardrail_absolute")

    def __repr__(self) -> str:
        """Write the goal as it was built, without the options that it does not set."""
        options = (f"{name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({', '.join([*map(repr, self.parts), *options])})"

    @property
    def is_share(self) -> bool:
        """Whether the goal is judged on a share of visitors."""
        return measure_of(self.goal_type, {"measure": self.measure}).unit == "share"

    @property
    def is_guardrail(self) -> bool:
        """Whether the goal has a margin of either kind."""
        return self.guardrail is not None or self.guardrail_absolute is not None

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns that a goal of several columns names; none where the goal is named like its column."""
        return ()

    @property
    def options(self) -> dict[str, Any]:
        """The options that are set."""
        given = ((field, getattr(self, field.name)) for field in fields(self) if field.kw_only)
        return {field.name: value for field, value in given if value != field.default}

    @property
    def covariate_columns(self) -> tuple[str, ...]:
        """The columns of covariates, each once."""
        given = self.covariates or ()
        return (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))

    @property
    def percentile(self) -> float | None:
        """The percentile at which values are capped; None for a goal that is not capped."""
        found: float | None = getattr(self, "cap_percentile", None)
        return found

    @property
    def order_column(self) -> str | None:
        """The column of orders; None for a goal that is not compared per order."""
        found: str | None = getattr(self, "orders", None)
        return found

    @property
    def divided_by(self) -> str | None:
        """The column that a ratio is divided by; None for other goals."""
        found: str | None = getattr(self, "denominator", None)
        return found

    @property
    def own_currency(self) -> str | None:
        """The currency of the goal's amounts; None for a goal that names none."""
        found: str | None = getattr(self, "currency", None)
        return found

    @property
    def is_partly_known(self) -> bool:
        """Whether some visitors may have no outcome, or not yet, and are left out."""
        return self.may_be_unknown or self.known is not None

    @property
    def is_adjusted(self) -> bool:
        """Whether covariates, orders or a cap change what is compared."""
        return bool(self.covariates or self.order_column or self.percentile is not None)

    def with_options(self, **options: Any) -> Self:  # noqa: ANN401  # of any option
        """Return the goal with further options; InvalidEvidenceError for those that it cannot have."""
        return type(self)(*self.parts, **{**self.options, **options})

    def columns(self, name: str) -> tuple[str, ...]:
        """List the columns of a goal of that name, without its options'."""
        return self.parts or (name,)

    def in_experiment(self, name: str, place: int) -> Goal:
        """Build the goal of an experiment; the first is the primary one."""
        config = {
            "event_name": name,
            "direction": "decrease" if self.less_is_better else "increase",
            "measure": None if self.measure == "converted" else self.measure,
            "denominator": self.divided_by and {"event_name": self.divided_by, "measure": "value"},
            "cap_percentile": self.percentile if self.goal_type == "revenue" else None,
            "per": "order" if self.order_column else None,
            "currency": self.own_currency,
            "q": getattr(self, "q", None),
            "of": getattr(self, "of", None),
            "guardrail_margin_percent": self.guardrail,
            "guardrail_margin_absolute": self.guardrail_absolute,
            "minimum_effect_percent": self.minimum_effect,
            **self._days(),
        }
        return Goal(
            id=f"goal_{place}",
            name=name,
            goal_type=self.goal_type,
            is_primary=place == 0,
            config={key: value for key, value in config.items() if value is not None},
        )

    def _days(self) -> dict[str, int | None]:
        """Return the keys of a goal's config that tell after how many days outcomes are known."""
        return {"window": self.window}
