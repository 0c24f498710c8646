from dataclasses import dataclass

import numpy as np

from engine.stats.arrays import ArrayRecord, FloatArray
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals(ArrayRecord):
    """A record with a record inside."""

    visitors: FloatArray
    revenue: Moments


def totals(*visitors: float) -> Totals:
    n = np.array(visitors)
    return Totals(visitors=n, revenue=Moments(n, 10.0 * n, 100.0 * n))


def parts(record: Totals) -> list[list[float]]:
    revenue = record.revenue
    return [part.tolist() for part in (record.visitors, revenue.n, revenue.mean, revenue.m2)]


def test_concatenating_joins_every_field_along_the_first_axis() -> None:
    assert parts(Totals.concatenate([totals(1, 2), totals(3)])) == parts(totals(1, 2, 3))


def test_stacking_adds_an_axis_to_every_field() -> None:
    below, beside = (Totals.stack([totals(1, 2), totals(3, 4)], axis=axis) for axis in (0, 1))
    assert below.visitors.tolist() == [[1, 2], [3, 4]]
    assert beside.revenue.mean.tolist() == [[10, 30], [20, 40]]


def test_where_takes_each_cell_from_one_of_two_records() -> None:
    chosen = Totals.where(np.array([True, False]), totals(1, 2), totals(3, 4))
    assert parts(chosen) == parts(totals(1, 4))


def test_an_index_picks_the_same_cells_of_every_field() -> None:
    assert parts(totals(1, 2, 3)[[2, 0]]) == parts(totals(3, 1))
    assert isinstance(totals(1, 2)[0].revenue.n, np.ndarray)


def test_an_assignment_overwrites_the_same_cells_of_every_field() -> None:
    record = totals(1, 2, 3)
    record[np.array([True, False, True])] = totals(7, 8)
    assert parts(record) == parts(totals(7, 2, 8))


def test_broadcasting_repeats_every_field() -> None:
    assert totals(1, 2).broadcast_to((3, 2)).revenue.m2.tolist() == [[100, 200]] * 3


def test_a_full_record_has_one_value_everywhere() -> None:
    full = Moments.full((2,), 0.0)
    assert [full.n.tolist(), full.mean.tolist(), full.m2.tolist()] == [[0, 0]] * 3
