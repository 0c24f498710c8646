"""States that are told once: at first at once, then where they hold after the next count."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from pipeline.store.catalog.webhooks.announced_states import PLAN, VERDICT, settle
from tests.builders import NOW

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
# A look at results: their states, and when they were counted and looked at.
Look = tuple[dict[str, str], datetime, datetime]


def told(looks: Sequence[Look]) -> list[tuple[str | None, str | None]]:
    states: dict[str, dict[str, str]] = {}
    found = []
    for seen, counted_at, now in looks:
        states, changes = settle(states, seen, counted_at=counted_at, now=now)
        found += [(one.before, one.after) for one in changes]
    return found


def each_minute(name: str, *values: str) -> list[Look]:
    """Looks at a state, a minute and a count apart; `-` for none."""
    times = (NOW + number * MINUTE for number in range(len(values)))
    return [({name: value} if value != "-" else {}, at, at) for value, at in zip(values, times, strict=True)]


@pytest.mark.parametrize(
    ("name", "values", "changes"),
    [
        (VERDICT, "insufficient_data insufficient_data", []),
        (VERDICT, "ship ship ship", [("insufficient_data", "ship")]),
        # The second change is told by the count after it, and a flap is not.
        (VERDICT, "ship review review", [("insufficient_data", "ship"), ("ship", "review")]),
        (VERDICT, "ship review ship review ship ship", [("insufficient_data", "ship")]),
        (VERDICT, "ship fix_data review review", [("insufficient_data", "ship"), ("ship", "review")]),
        ("check:bots", "- alarm alarm", [(None, "alarm")]),
        ("check:bots", "alarm - alarm - alarm", [(None, "alarm")]),
        ("check:bots", "alarm - - alarm alarm", [(None, "alarm"), ("alarm", None), (None, "alarm")]),
        ("guardrail:a:b", "near broken broken", [(None, "near"), ("near", "broken")]),
        (PLAN, "soon - - - soon soon", [(None, "soon")]),
    ],
)  # fmt: skip
def test_a_state_is_told_once_and_again_where_it_holds(
    name: str, values: str, changes: list[tuple[str | None, str | None]]
) -> None:
    assert told(each_minute(name, *values.split())) == changes


def test_the_same_count_looked_at_twice_is_one_count() -> None:
    ship, review = {VERDICT: "ship"}, {VERDICT: "review"}
    looks = [(ship, NOW, NOW), (review, NOW + MINUTE, NOW + MINUTE), (review, NOW + MINUTE, NOW + 2 * MINUTE)]
    assert len(told(looks)) == 1
    assert len(told([*looks, (review, NOW + 3 * MINUTE, NOW + 3 * MINUTE)])) == 2


def test_a_change_that_no_count_follows_is_told_a_day_later() -> None:
    ship, review = {VERDICT: "ship"}, {VERDICT: "review"}
    counted = NOW + MINUTE
    looks = [(ship, NOW, NOW), (review, counted, counted), (review, counted, counted + DAY - MINUTE)]
    assert len(told(looks)) == 1
    assert told([*looks, (review, counted, counted + DAY)])[-1] == ("ship", "review")
