"""Costs that follow what is new are flat where ten times as much is stored."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

import pytest

from tests.growth import BACK, OPERATIONS, Operation, Work, a_site, measure_all

STORED: Final = 2_000
# As many as change.
EXPERIMENTS: Final = BACK
TIMES: Final = 10
# What any may add: statements of more groups of tables, rows that are read with others, longer names.
MORE: Final = {"rows_scanned": 600, "statements": 8, "documents": 2, "bytes_written": 2_000}

Works = Mapping[Operation, Work]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Works:
    return measured(tmp_path_factory, stored=STORED, experiments=EXPERIMENTS)


@pytest.fixture(scope="module")
def many_events(tmp_path_factory: pytest.TempPathFactory) -> Works:
    return measured(tmp_path_factory, stored=TIMES * STORED, experiments=EXPERIMENTS)


@pytest.fixture(scope="module")
def many_experiments(tmp_path_factory: pytest.TempPathFactory) -> Works:
    return measured(tmp_path_factory, stored=STORED, experiments=TIMES * EXPERIMENTS)


def measured(folders: pytest.TempPathFactory, **sizes: int) -> Works:
    with a_site(folders.mktemp("store"), **sizes) as site:
        return measure_all(site)


def grown(small: Work, large: Work, times: float) -> dict[str, tuple[int, int]]:
    """Return the numbers that have grown more than so many times."""
    both = zip(asdict(small).items(), asdict(large).values(), strict=True)
    return {name: (few, many) for (name, few), many in both if many > times * few + MORE[name]}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_ten_times_the_events_are_no_more_work_than_the_table_says(
    few: Works, many_events: Works, operation: Operation
) -> None:
    assert grown(few[operation], many_events[operation], operation.events) == {}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_ten_times_the_experiments_are_no_more_work_than_the_table_says(
    few: Works, many_experiments: Works, operation: Operation
) -> None:
    assert grown(few[operation], many_experiments[operation], operation.experiments) == {}


def test_growing_work_is_found(few: Works, many_events: Works) -> None:
    (refresh,) = (one for one in OPERATIONS if one.name.startswith("refresh"))
    # Finds by key look through every event.
    assert set(grown(few[refresh], many_events[refresh], 1.3)) == {"rows_scanned"}
