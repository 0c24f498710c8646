import math

import numpy as np

from engine.analysis.results.numbers import (
    interval,
    intervals,
    no_cells,
    number,
    numbers,
    p_values,
    whole_numbers,
)

CELLS = np.array([[1.5, np.nan], [np.inf, -2.5]])
EVERYWHERE = np.ones((2, 2), bool)


def test_numbers_that_do_not_exist_or_are_infinite_are_none() -> None:
    assert numbers(CELLS) == [[1.5, None], [None, -2.5]]
    assert numbers(CELLS, where=np.array([True, False])) == [[1.5, None], [None, None]]
    assert (number(1.5), number(math.nan), number(math.inf)) == (1.5, None, None)
    assert no_cells((1, 2)) == [[None, None]]


def test_whole_numbers_round_half_to_even_as_python_does() -> None:
    assert whole_numbers(CELLS, where=EVERYWHERE) == [[2, None], [None, -2]]


def test_p_values_are_those_of_their_logs() -> None:
    logs = np.array([[math.log(0.05), np.nan]])
    assert p_values(logs, where=np.ones((1, 2), bool)) == [[math.exp(math.log(0.05)), None]]


def test_an_interval_has_none_for_an_infinite_bound_and_is_none_without_bounds() -> None:
    half = interval(-0.1, math.inf, 0.95)
    assert half is not None
    assert (half.low, half.high, half.level) == (-0.1, None, 0.95)
    assert interval(math.nan, 1.0, 0.95) is None
    bounds = intervals(CELLS, CELLS + 1, np.full((2, 2), 0.9), where=np.array([True, False]))
    assert [[cell is None for cell in row] for row in bounds] == [[False, True], [False, True]]
