"""Ratio: the sum of one amount of the visitors over that of another."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.errors import Problem
from engine.measures.event_selection import page_problems, part_problems, without_nulls
from engine.measures.measure import Config, Measure
from engine.validation.check import unchecked
from engine.validation.values import at, choice
from engine.vocabulary import GoalType, Summed, words

_SUMMED: Final = choice(words(Summed))


def _fill_in(goal_type: GoalType, config: Config) -> Config:
    if not isinstance(config.get("denominator"), Mapping):
        return config
    return {"numerator": "count", **config, "denominator": _denominator_of(goal_type, config)}


def _denominator_of(goal_type: GoalType, config: Config) -> dict[str, Any]:
    """Return the denominator with its defaults, as the `goal_type` and config of a goal."""
    return {"goal_type": goal_type, "measure": "count", **without_nulls(config["denominator"])}


def _find_problems(goal_type: GoalType, config: Config) -> Iterator[Problem]:
    if "denominator" in config:
        yield from at("denominator", _denominator_problems(goal_type, config["denominator"]))


def _denominator_problems(goal_type: GoalType, denominator: object) -> Iterable[Problem]:
    problems = part_problems(
        goal_type, denominator, what="a denominator", is_no="can't be divided by", more={"measure": _SUMMED}
    )
    if problems or not isinstance(denominator, Mapping):
        return problems
    given = without_nulls(denominator)
    if "value_param" in given and given.get("measure") != "value":
        return [Problem("value_param", "names a value: leave it out, or set the measure to 'value'")]
    return page_problems(given)


def _numerator(config: Config) -> Summed:
    # The goals of data frames have columns instead.
    numerator: Summed = config.get("numerator", "count")
    return numerator


def _denominator(config: Config) -> Summed:
    denominator: Summed = config["denominator"]["measure"]
    return denominator


def denominator_name(config: Config) -> str:
    """Name what a ratio is divided by, for a sentence: orders, or what the denominator tracks, quoted."""
    denominator = config.get("denominator")
    if denominator is None:
        return "orders"
    return f"'{next(denominator[key] for key in ('event_name', 'selector', 'url') if key in denominator)}'"


RATIO: Final = Measure(
    word="ratio",
    description=(
        "the sum of its `numerator` (`count`, the default, or `value` of the goal's events) over that of its "
        "`denominator`, `{goal_type?, measure?, …}` with the keys of events of that type and `count` or "
        "`value` as its measure"
    ),
    label="Ratio",
    unit="number",
    heading="ratio",
    predicate="had a ratio of",
    # The denominator is checked by its own goal type.
    keys={"numerator": _SUMMED, "denominator": unchecked(type="object")},
    keys_are="is of ratios only: leave it out, or measure the goal by 'ratio'",
    fill_in=_fill_in,
    find_problems=_find_problems,
    needed_of_events=(
        "denominator",
        "is required for a ratio: the events to divide by, such as {'event_name': 'purchase'}",
    ),
    summed=_numerator,
    divided_by=_denominator,
    columns=("amount", "denominator"),
)
