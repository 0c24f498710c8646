"""Sums of visitors by name: whole numbers of each visitor, which add up exactly in any order."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from engine.vocabulary import Summed

Column = Literal["cents", "amount", "denominator", "orders", "steps", "values", "event_values"]
"""A whole number of each visitor and goal, or of each event of a visitor."""
SumName = Literal["money", "amount", "denominator", "amount_plus_denominator", "amount_minus_denominator"]
BucketSumName = Literal["values", "values_times_lower", "values_times_others"]

VALUE_UNIT: Final = 10_000
"""The whole number that stands for a value of 1: values have four decimals."""
UNITS: Final[Mapping[Summed, int]] = MappingProxyType({"count": 1, "value": VALUE_UNIT})
"""The whole number that stands for 1 of what is summed up of events."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of visitors: of their `columns`, each with a sign, where a goal has all of them.

    Its total, squares and cubes are kept. Two values have theirs, and those of their sum and their
    difference, from which all products up to the third follow: (y + x)³ + (y - x)³ = 2y³ + 6yx².
    """

    name: SumName
    columns: tuple[tuple[Column, int], ...]


MONEY: Final = Sum("money", (("cents", 1),))
AMOUNT: Final = Sum("amount", (("amount", 1),))
DENOMINATOR: Final = Sum("denominator", (("denominator", 1),))
PLUS: Final = Sum("amount_plus_denominator", (("amount", 1), ("denominator", 1)))
MINUS: Final = Sum("amount_minus_denominator", (("amount", 1), ("denominator", -1)))
SUMS: Final[Mapping[str, Sum]] = MappingProxyType(
    {one.name: one for one in (MONEY, AMOUNT, DENOMINATOR, PLUS, MINUS)}
)
"""Every sum by its name; the order numbers them while visitors are counted."""

BUCKET_SUMS: Final[tuple[BucketSumName, ...]] = get_args(BucketSumName)
"""Sums by bucket of values, of goals that are quantiles.

Of the values that each visitor has in the bucket: their number and its squares, and its products with the
numbers of the visitor's lower values and of those in other buckets. See `engine.stats.clustered_buckets`.
"""


def unit_of(summed: Summed | None) -> int | None:
    """Return the whole number that stands for 1 of what is summed up; None where nothing is."""
    return None if summed is None else UNITS[summed]
