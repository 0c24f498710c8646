"""Reads of an experiment of many goals, variants, segment values and days follow what they answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pytest

from tests.wide_experiment import PAGE, VIEWS, Site, Width, a_wide_site, counted_calls

SMALL: Final = Width(goals=3, variants=3, values=3, days=8, visitors=500)
TIMES: Final = 5
WIDTHS: Final = {
    "exp_small": SMALL,
    "exp_days": replace(SMALL, days=TIMES * SMALL.days),
    "exp_values": replace(SMALL, values=TIMES * SMALL.values),
    "exp_goals": replace(SMALL, goals=TIMES * SMALL.goals),
    "exp_goals_days": replace(SMALL, goals=TIMES * SMALL.goals, days=TIMES * SMALL.days),
    "exp_goals_values": replace(SMALL, goals=TIMES * SMALL.goals, values=TIMES * SMALL.values),
}
# What longer numbers and other branches may add; on the page a band of days where its interval is known.
MORE_CALLS: Final = 600
MORE_CALLS_OF_PAGE: Final = 3_000
MORE_BYTES: Final = 500
# Sums of a visitor's events in a dimension: those of everyone, of the days of the week and of the region.
DIMENSIONS: Final = 3


@dataclass(frozen=True, slots=True)
class Work:
    """Calls for an answer, and its bytes."""

    calls: int
    size: int

    def less(self, other: "Work") -> "Work":
        return Work(self.calls - other.calls, self.size - other.size)


Works = Mapping[tuple[str, str], Work]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with a_wide_site(tmp_path_factory.mktemp("store"), **WIDTHS) as opened:
        opened.count()
        yield opened


@pytest.fixture(scope="module")
def works(site: Site) -> Works:
    for view in VIEWS:
        # The first one imports what it needs.
        site.read("exp_small", view)
    return {(name, view): work for name in WIDTHS for view, work in works_of(site, name)}


def works_of(site: Site, name: str) -> Iterator[tuple[str, Work]]:
    # Records the look that is due.
    site.read(name, "")
    for view in VIEWS:
        with counted_calls() as calls:
            answer = site.read(name, view)
        yield view, Work(calls.number, len(answer))


def added(works: Works, view: str, what: str) -> tuple[Work, Work]:
    """What more days or values add with few goals, and with many."""
    of_few = works[f"exp_{what}", view].less(works["exp_small", view])
    return of_few, works[f"exp_goals_{what}", view].less(works["exp_goals", view])


@pytest.mark.parametrize(
    ("view", "what"),
    [*((view, "days") for view in VIEWS), *((view, "values") for view in ("", "/timeseries", "/summary"))],
)
def test_more_days_or_values_are_as_much_work_with_many_goals_as_with_few(
    works: Works, view: str, what: str
) -> None:
    of_few, of_many = added(works, view, what)
    assert of_many.calls <= of_few.calls + (MORE_CALLS_OF_PAGE if view == PAGE else MORE_CALLS)
    assert of_many.size <= of_few.size + MORE_BYTES


def test_work_that_multiplies_is_found(works: Works) -> None:
    # Every segment is compared on every goal.
    of_few, of_many = added(works, "/segments", "values")
    assert of_many.calls > 3 * of_few.calls + MORE_CALLS
    assert of_many.size > 3 * of_few.size + MORE_BYTES
    # The page has those of one goal, and the values to filter by.
    of_few, of_many = added(works, PAGE, "values")
    assert of_many.calls <= of_few.calls + MORE_CALLS
    assert of_many.size <= of_few.size + 2 * MORE_BYTES


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", WIDTHS)
def test_an_answer_has_at_most_the_bytes_of_what_is_in_it(works: Works, view: str, name: str) -> None:
    assert works[name, view].size <= VIEWS[view].of(WIDTHS[name])


@pytest.mark.parametrize("name", WIDTHS)
def test_no_more_sums_are_stored_than_events_and_visitors_have(site: Site, name: str) -> None:
    width = WIDTHS[name]
    assert 0 < site.sums(name) <= DIMENSIONS * width.events
