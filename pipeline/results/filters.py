"""Filters of results by segment and by day of first exposure, from query parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final, Self

from engine.errors import Problem
from engine.local_days import epoch_days
from engine.validation.values import shown
from pipeline.store.event_columns import DIMENSIONS, OTHER
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX, is_dimension

CUSTOM_KEY: Final = "custom_dimension_key"
CUSTOM_VALUE: Final = "custom_dimension_value"
# The first and the last day of first exposure, in the reporting time zone.
FROM: Final = "from"
TO: Final = "to"
REACHED: Final = "reached"
# Every query parameter that filters results by segment.
FILTERS: Final = (*DIMENSIONS, CUSTOM_KEY, CUSTOM_VALUE)


class InvalidFilterError(ValueError):
    """Invalid filters: every problem, with its parameter."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Keep the problems in the order of the parameters."""
        self.problems = problems
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in problems))


@dataclass(frozen=True, slots=True)
class SegmentFilters:
    """Filters of one request, by query parameter, as given; visitors match all of them.

    `first_day` and `last_day` bound the local day of the first exposure, both included. `reached` asks
    for the second look at an experiment, at those who reached what it changes.

    `segment` is the selected value of each dimension, custom ones named `custom:<key>`. `given_days` are the
    bounds by query parameter, `days` those as days since 1970. `is_everyone` where no visitor is left out.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    first_day: date | None = None
    last_day: date | None = None
    reached: bool = False
    segment: dict[str, str] = field(init=False, compare=False)
    given_days: dict[str, str] = field(init=False, compare=False)
    days: tuple[int | None, int | None] = field(init=False, compare=False)
    is_everyone: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Raise InvalidFilterError for an unknown value, half a custom dimension, or days in reverse."""
        # Found once: each report asks for them several times.
        bounds = {name: day for name, day in ((FROM, self.first_day), (TO, self.last_day)) if day is not None}
        first, last = (None if day is None else epoch_days(day) for day in (self.first_day, self.last_day))
        found = {
            "segment": _segment_of(self.given),
            "given_days": {name: day.isoformat() for name, day in bounds.items()},
            "days": (first, last),
            "is_everyone": not self.given and not bounds,
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)
        problems = (
            *_unknown_values(self.given),
            *_half_custom(self.given),
            *self._reversed_days(),
            *self._parts_of_reached(),
        )
        if problems:
            raise InvalidFilterError(problems)

    @classmethod
    def from_query(cls, query: Mapping[str, str | None]) -> Self:
        """Take the filters from the parameters of a request, ignoring the others."""
        return cls({name: value for name in FILTERS if (value := query.get(name)) is not None})

    def refuse_coming(self, today: date) -> None:
        """Raise InvalidFilterError for a first day that has not begun."""
        if self.first_day is not None and self.first_day > today:
            message = f"{self.first_day.isoformat()} has not begun: today is {today.isoformat()}"
            raise InvalidFilterError((Problem(FROM, message),))

    def _parts_of_reached(self) -> tuple[Problem, ...]:
        if not self.reached or self.is_everyone:
            return ()
        return (Problem(REACHED, "is told of all visitors only; leave out the filters, or reached"),)

    def _reversed_days(self) -> tuple[Problem, ...]:
        if self.first_day is None or self.last_day is None or self.first_day <= self.last_day:
            return ()
        return (Problem(TO, f"{self.last_day.isoformat()} is before from; give the days in order"),)

    def refuse_other(self) -> None:
        """Raise InvalidFilterError for OTHER of a closed set, which only sums from outside have."""
        if problems := _unknown_values(self.given, and_other=False):
            raise InvalidFilterError(problems)


def _segment_of(given: Mapping[str, str]) -> dict[str, str]:
    selected = {name: value for name, value in given.items() if name in DIMENSIONS}
    # Half of a custom dimension is refused.
    if CUSTOM_KEY in given and CUSTOM_VALUE in given:
        selected[CUSTOM_PREFIX + given[CUSTOM_KEY]] = given[CUSTOM_VALUE]
    return selected


def validate_dimension(name: str | None) -> None:
    """Raise InvalidFilterError unless `name` is None, one of DIMENSIONS or `custom:<key>`."""
    if name is not None and not is_dimension(name):
        message = (
            f"{shown(name)} is none of {', '.join(DIMENSIONS)}, nor a custom dimension such as custom:plan"
        )
        raise InvalidFilterError((Problem("dimension", message),))


def _unknown_values(given: Mapping[str, str], *, and_other: bool = True) -> tuple[Problem, ...]:
    others = (OTHER,) if and_other else ()
    return tuple(
        Problem(name, f"{shown(given[name])} is none of {', '.join(values)}")
        for name, values in ((name, DIMENSIONS[name].values) for name in DIMENSIONS)
        if values and name in given and given[name] not in {*values, *others}
    )


def _half_custom(given: Mapping[str, str]) -> tuple[Problem, ...]:
    pair = (CUSTOM_KEY, CUSTOM_VALUE)
    missing = [name for name in pair if name not in given]
    if len(missing) != 1:
        return ()
    return (Problem(missing[0], f"{CUSTOM_KEY} and {CUSTOM_VALUE} go together; give both or neither"),)
