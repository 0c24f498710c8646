"""Measure: what is taken of each visitor, in which unit, by which sums, and the words for it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import Problem
from engine.measures.sums import Column
from engine.validation.check import Check
from engine.vocabulary import GoalType, MetricUnit, Summed

Config = Mapping[str, Any]
"""The config of a goal without nulls."""


def _as_given(_: GoalType, config: Config) -> Config:
    return config


def _no_problems(_goal_type: GoalType, _config: Config) -> Iterable[Problem]:
    return ()


def _nothing(_: Config) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure of visitors, with all that depends on it.

    Words: `description` says what is measured. `label` names the metric in reports, and `heading` the column
    of its numbers. A share reads "5% of 100 {population} {predicate}", and a number "{predicate} 1.5{per}",
    with the keys of the config that are in braces.

    Config: `keys` are those that only goals of this measure take, with their checks; `fill_in` adds their
    defaults, `find_problems` checks what holds between keys, and `needed_of_events` has the key without which
    no events can be counted, with the message. `takes_cap` holds for amounts.

    Counting: `summed` is what the goal sums up of its events, and `divided_by` what its denominator does, by
    the config. Of the events with one value of `field_of_events` (one of EVENT_FIELDS, or an attribute), the
    first counts alone, and none without a value. `columns` are those of a visitor's row besides the time, day
    and cents of the goal, from which the sums over visitors follow (`engine.measures.sums`). A measure with
    `days` counts events of those days since the first exposure only, by the config. `known_after` says when a
    visitor's outcome is known. SQL says the same of these `columns`; of a measure that it can't count, why,
    in `not_in_sql`.

    Results: `has_days` where conversions or money by day say all, so that days can be drawn. `has_mean` where
    results have a `mean`; others have the conversion rate or the revenue in its place.

    Derived: `is_known_at_once` where events count from the first exposure on, and not on later days only.
    `is_quantile` where values are counted by bucket, for a quantile of them. `is_ratio` where the metric is
    one sum over another; `is_per_order` where it is money per order, not per visitor.
    """

    word: str
    description: str = ""
    label: str
    unit: MetricUnit
    heading: str = ""
    population: str = "visitors"
    predicate: str = ""
    per: str = ""
    keys: Mapping[str, Check] = field(default_factory=dict)
    keys_are: str = ""
    fill_in: Callable[[GoalType, Config], Config] = _as_given
    find_problems: Callable[[GoalType, Config], Iterable[Problem]] = _no_problems
    needed_of_events: tuple[str, str] | None = None
    takes_cap: bool = False
    takes_window: bool = True
    summed: Callable[[Config], Summed | None] = _nothing
    field_of_events: Callable[[Config], str | None] = _nothing
    divided_by: Callable[[Config], Summed | None] = _nothing
    columns: tuple[Column, ...] = ()
    days: Callable[[Config], tuple[int, int] | None] = _nothing
    not_in_sql: str = ""
    has_days: bool = False
    has_mean: bool = True
    is_known_at_once: bool = field(init=False)
    is_quantile: bool = field(init=False)
    is_per_order: bool = field(init=False)
    is_ratio: bool = field(init=False)

    def __post_init__(self) -> None:
        derived = {
            "is_known_at_once": self.days is _nothing,
            "is_quantile": "q" in self.keys,
            "is_per_order": "orders" in self.columns,
            "is_ratio": not {"orders", "denominator"}.isdisjoint(self.columns),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def known_after(self, config: Config) -> int | None:
        """Return the days of 24 hours from the first exposure after which an outcome is known.

        Those of the measure, or of the goal's window: before they are over no visitor counts as known,
        whatever it did. None where a visitor counts at once, or as soon as it has a value.
        """
        own = self.days(config)
        window: int | None = config.get("window")
        return window if own is None else own[1] + 1
