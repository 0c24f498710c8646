"""Matching of events to goals, once per distinct signature of events and distinct rule of goals."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from typing import Final

import msgspec
import polars as pl

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.pages import matching_urls
from engine.vocabulary import GoalType, UrlMatchType, words
from pipeline.events.schema import CONVERSION, EVENT_TYPES, MATCHED_BY
from pipeline.rollup.goals.counted_goals import counted_goals

# Besides conversions, which any goal can have: the tracked events that a goal of each type counts.
TRACKED_AS: Final[Mapping[str, tuple[str, ...]]] = {
    goal_type: tuple(name for name, event_type in EVENT_TYPES.items() if goal_type in event_type.goal_types)
    for goal_type in words(GoalType)
}


# Columns of `goal_rows` that say what is read of an event.
READ_OF_EVENTS: Final = ("minor_units", "value_path", "field")


def matched_fields(experiments: Sequence[Experiment]) -> dict[str, tuple[str, ...]]:
    """Map each type of events that some goal counts to the fields that goals are compared with."""
    tracked = {kind for one in counted_goals(experiments) for kind in TRACKED_AS[one.goal.goal_type]}
    return {kind: MATCHED_BY[kind] for kind in sorted(tracked | {CONVERSION})}


def number_rules(goals: Iterable[Goal], named_goals: Collection[str]) -> list[int]:
    """Number each goal's rule: goals that the same events count for share one.

    These are goals of one definition, unless an event names one of them by its id (`named_goals`).
    """
    numbers: dict[tuple[str, bytes, str | None], int] = {}
    definitions = (
        (
            goal.goal_type,
            msgspec.json.encode(goal.tracking, order="deterministic"),
            goal.id if goal.id in named_goals else None,
        )
        for goal in goals
    )
    return [numbers.setdefault(definition, len(numbers)) for definition in definitions]


def match_goals(signatures: pl.DataFrame, goals: Mapping[int, Goal]) -> pl.DataFrame:
    """Pair each signature with the rules it matches; `goals` has a goal of each rule.

    `signatures` has the columns that goals are compared with and a number `signature`; a pair is that number
    and `rule`.
    """
    urls = _UrlMatches(signatures)
    no_pairs = signatures.clear().select("signature", pl.lit(0, pl.UInt32).alias("rule"))
    pairs = (
        signatures.filter(_matches(goal, urls)).select("signature", pl.lit(rule, pl.UInt32).alias("rule"))
        for rule, goal in goals.items()
    )
    return pl.concat([no_pairs, *pairs])


def number_matches(pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number the distinct sets of rules that signatures match, so that an event has one number.

    `pairs` are those of `match_goals` with what each rule reads of events, READ_OF_EVENTS: they have one
    amount for each of them. Returns `signature`, READ_OF_EVENTS, `match`, and the rows `match`, `rule` of
    each set.
    """
    sets = pairs.group_by("signature", *READ_OF_EVENTS).agg(pl.col("rule").sort())
    named = sets.with_columns(pl.col("rule").cast(pl.List(pl.String)).list.join(",").alias("set"))
    distinct = named.unique("set", keep="any").select("set", "rule").with_row_index("match")
    matches = named.drop("rule").join(distinct.select("set", "match"), on="set").drop("set")
    return matches, distinct.select("match", "rule").explode("rule")


class _UrlMatches:
    """Matches of URL patterns, each distinct pattern tried on each distinct URL once."""

    def __init__(self, signatures: pl.DataFrame) -> None:
        self._urls: list[str] = signatures["url"].drop_nulls().unique().to_list()
        self._matching: dict[tuple[str, str], list[str]] = {}

    def of(self, match_type: UrlMatchType, pattern: str) -> list[str]:
        key = (match_type, pattern)
        if key not in self._matching:
            matches = matching_urls(match_type, pattern, self._urls)
            self._matching[key] = list(compress(self._urls, matches))
        return self._matching[key]


def _matches(goal: Goal, urls: _UrlMatches) -> pl.Expr:
    is_conversion = pl.col("type") == CONVERSION
    by_id = is_conversion & pl.col("goal_id").eq(goal.id)
    is_tracked = pl.col("type").is_in(list(TRACKED_AS[goal.goal_type]))
    tracking = goal.tracking
    if goal.goal_type == "pageview":
        is_page = pl.col("url").is_in(urls.of(tracking["match_type"], tracking["url"]))
        return by_id | (is_tracked & is_page)
    if goal.goal_type == "click":
        is_page = (
            pl.col("url").is_in(urls.of("exact", tracking["url"])) if "url" in tracking else pl.lit(True)
        )
        return by_id | (is_tracked & pl.col("selector").eq(tracking["selector"]) & is_page)
    # A conversion that names a goal is of that goal only, whatever else it is called.
    by_name = is_tracked | (is_conversion & pl.col("goal_id").is_null())
    return by_id | (by_name & pl.col("event_name").eq(tracking["event_name"]))
