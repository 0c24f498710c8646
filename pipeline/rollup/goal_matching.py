"""Matching of events to goals, once per distinct signature of events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Final

import polars as pl

from engine.design.experiment import Experiment, Goal
from engine.design.pages import matching_urls
from engine.design.vocabulary import GoalType, UrlMatchType, words
from pipeline.events.schema import CONVERSION, EVENT_TYPES, MATCHED_BY

# Besides conversions, which any goal can have: the tracked events that a goal of each type counts.
TRACKED_AS: Final[Mapping[str, tuple[str, ...]]] = {
    goal_type: tuple(name for name, event_type in EVENT_TYPES.items() if goal_type in event_type.goal_types)
    for goal_type in words(GoalType)
}


def matched_fields(experiments: Iterable[Experiment]) -> dict[str, tuple[str, ...]]:
    """Map each type of events that some goal counts to the fields that goals are compared with."""
    tracked = {kind for goal in _goals(experiments) for kind in TRACKED_AS[goal.goal_type]}
    return {kind: MATCHED_BY[kind] for kind in sorted(tracked | {CONVERSION})}


def match_goals(signatures: pl.DataFrame, experiments: Sequence[Experiment]) -> pl.DataFrame:
    """Pair each signature with the goals it matches.

    `signatures` has the columns that goals are compared with and a number `signature`; a pair is that number
    and `rule`, the number of a goal, counted through all experiments.
    """
    urls = _UrlMatches(signatures)
    no_pairs = signatures.clear().select("signature", pl.lit(0, pl.UInt32).alias("rule"))
    pairs = (
        signatures.filter(_matches(goal, urls)).select("signature", pl.lit(rule, pl.UInt32).alias("rule"))
        for rule, goal in enumerate(_goals(experiments))
    )
    return pl.concat([no_pairs, *pairs])


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


def _goals(experiments: Iterable[Experiment]) -> Iterator[Goal]:
    return (goal for experiment in experiments for goal in experiment.goals)
