"""Evidence of orders in currencies that a revenue goal does not count."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherCurrencies:
    """Orders of the visitors of an experiment for one goal, by its position.

    `orders` is the number of all of them, `others` those in currencies that the goal does not count.
    """

    goal: int
    orders: int
    others: Mapping[str, int]
