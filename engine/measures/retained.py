"""Retained: the share of visitors with an event on some days after their first exposure."""

from collections.abc import Iterator
from typing import Final

from engine.errors import Problem
from engine.measures.measure import Config, Measure
from engine.validation.values import shown, whole
from engine.vocabulary import GoalType

_LAST_DAY: Final = 364


def _fill_in(_: GoalType, config: Config) -> Config:
    return {"to_day": config["from_day"], **config} if "from_day" in config else config


def _find_problems(_: GoalType, config: Config) -> Iterator[Problem]:
    if config.get("from_day", 0) > config.get("to_day", _LAST_DAY):
        yield Problem("to_day", f"{shown(config['to_day'])} is before from_day, {shown(config['from_day'])}")


def _days(config: Config) -> tuple[int, int] | None:
    # The goals of data frames have a column instead.
    return (config["from_day"], config["to_day"]) if "from_day" in config else None


RETAINED: Final = Measure(
    word="retained",
    description=(
        "the share of visitors with an event on the days `from_day` to `to_day` (default: the same) after "
        "exposure, of those whose days are over"
    ),
    label="Rate",
    unit="share",
    population="visitors whose window is over",
    predicate="were retained",
    keys={"from_day": whole(1, _LAST_DAY), "to_day": whole(1, _LAST_DAY)},
    keys_are="is of retention only: leave it out, or measure the goal by 'retained'",
    fill_in=_fill_in,
    find_problems=_find_problems,
    needed_of_events=(
        "from_day",
        "is required: the first day after exposure on which a visitor is retained, such as 7",
    ),
    takes_window=False,
    days=_days,
)
