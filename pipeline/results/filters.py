"""Which visitors a reader of results asks for, and which questions make no sense."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from engine.design.validation.values import shown
from engine.errors import Problem
from pipeline.store.warehouse.visitors import CUSTOM_PREFIX, DIMENSIONS

# Dimensions of few fixed values: any other is a mistake of the reader's, not a segment without visitors.
CLOSED_SETS: Final[Mapping[str, tuple[str, ...]]] = {
    "device_type": ("desktop", "mobile", "tablet"),
    "visitor_type": ("new", "returning"),
    "day_of_week": ("weekday", "weekend"),
    "visitor_identity": ("identified", "anonymous"),
}
CUSTOM_KEY: Final = "custom_dimension_key"
CUSTOM_VALUE: Final = "custom_dimension_value"
# Every query parameter that filters results.
FILTERS: Final = (*DIMENSIONS, CUSTOM_KEY, CUSTOM_VALUE)


class InvalidFilterError(ValueError):
    """Filters that cannot mean anything: every problem found, with the parameter it is about."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Keep the problems in the order of the parameters."""
        self.problems = problems
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in problems))


@dataclass(frozen=True, slots=True)
class SegmentFilters:
    """The filters of one question, by query parameter, as given; visitors have to match all of them."""

    given: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise InvalidFilterError for a value outside a closed set, or half a custom dimension."""
        problems = (*_outside_closed_sets(self.given), *_half_custom(self.given))
        if problems:
            raise InvalidFilterError(problems)

    @classmethod
    def from_query(cls, query: Mapping[str, str | None]) -> Self:
        """Take what filters from all the parameters of a request; the others mean nothing here."""
        return cls({name: value for name in FILTERS if (value := query.get(name)) is not None})

    @property
    def segment(self) -> dict[str, str]:
        """The value asked for of each dimension, a custom one named `custom:<key>`."""
        wanted = {name: value for name, value in self.given.items() if name in DIMENSIONS}
        if CUSTOM_KEY in self.given:
            wanted[CUSTOM_PREFIX + self.given[CUSTOM_KEY]] = self.given[CUSTOM_VALUE]
        return wanted


def validate_dimension(name: str | None) -> None:
    """Raise InvalidFilterError for what is no dimension: neither one of DIMENSIONS nor `custom:<key>`."""
    is_custom = name is not None and name.startswith(CUSTOM_PREFIX) and name != CUSTOM_PREFIX
    if name is not None and name not in DIMENSIONS and not is_custom:
        message = (
            f"{shown(name)} is none of {', '.join(DIMENSIONS)}, nor a custom dimension such as custom:plan"
        )
        raise InvalidFilterError((Problem("dimension", message),))


def _outside_closed_sets(given: Mapping[str, str]) -> tuple[Problem, ...]:
    return tuple(
        Problem(name, f"{shown(given[name])} is none of {', '.join(values)}")
        for name, values in CLOSED_SETS.items()
        if name in given and given[name] not in values
    )


def _half_custom(given: Mapping[str, str]) -> tuple[Problem, ...]:
    pair = (CUSTOM_KEY, CUSTOM_VALUE)
    missing = [name for name in pair if name not in given]
    if len(missing) != 1:
        return ()
    return (Problem(missing[0], f"{CUSTOM_KEY} and {CUSTOM_VALUE} go together; give both or neither"),)
