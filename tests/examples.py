"""Examples of property tests: few that are the same in every run, or many drawn by a seed.

`make test` uses the profile `few`. The share of long tests at the end of `.ci/run`, and `make test-all`, use
`many` with `--hypothesis-seed`, which alone decides the examples: no database of earlier failures is read,
and no constants are taken from the modules that happen to be imported.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

FEW: Final = "few"
MANY: Final = "many"
# Of a test that names no numbers of its own.
FEW_EXAMPLES: Final = 30
MANY_EXAMPLES: Final = 200

_seeds: Final[list[int]] = []
TestT = TypeVar("TestT", bound=Callable[..., Any])


def register_profiles() -> None:
    """Register both profiles, and load `few`; `--hypothesis-profile=many` loads the other."""
    # Otherwise a test that is repeated alone, beside fewer modules, has other examples.
    providers._get_local_constants = Constants  # noqa: SLF001
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        FEW, derandomize=True, max_examples=FEW_EXAMPLES, deadline=None, suppress_health_check=slow
    )
    settings.register_profile(
        MANY,
        derandomize=False,
        database=None,
        max_examples=MANY_EXAMPLES,
        deadline=None,
        suppress_health_check=slow,
        print_blob=True,
    )
    settings.load_profile(FEW)


def is_many() -> bool:
    """Return whether this run has many examples."""
    return settings.get_current_profile_name() == MANY


def use_seed(seed: str | None) -> None:
    """Take the seed of `--hypothesis-seed` for what Hypothesis does not draw itself."""
    _seeds[:] = [int(seed)] if seed is not None and seed.isdecimal() else []


def seed_or(usual: int) -> int:
    """Return the seed of the run, or the usual one."""
    return _seeds[0] if _seeds else usual


def examples(
    few: int, many: int, *, seconds: float | None = None, allowed: Sequence[HealthCheck] = ()
) -> Callable[[TestT], TestT]:
    """Set the numbers of examples of a property test, and about how many seconds the many take."""
    number = many if is_many() else few
    suppressed = [*settings().suppress_health_check, *allowed]

    def decorate(test: TestT) -> TestT:
        if seconds is not None:
            test = pytest.mark.many(seconds=seconds)(test)
        return settings(max_examples=number, suppress_health_check=suppressed)(test)

    return decorate


def in_shares(*values: Any, seconds: float) -> list[ParameterSet]:
    """Return parameters whose tests are long, since they take the same way as the others of a test."""
    return [pytest.param(value, marks=pytest.mark.long(seconds=seconds)) for value in values]


def mostly_in_shares(values: Iterable[Any], *always: Any, seconds: float) -> list[Any]:
    """Return parameters of which only some are in every run, where all take the same way through a test."""
    return [one if one in always else in_shares(one, seconds=seconds)[0] for one in values]


def trials(few: int, many: int) -> int:
    """Return how many trials a simulation has; one marked `many(seconds=…)` is in shares with its many."""
    return many if is_many() else few
