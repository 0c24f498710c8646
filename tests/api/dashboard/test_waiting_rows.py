"""Rows that need attention: why, of which goal, for whom, since when, and the next step."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from api.dashboard.waiting_rows import broken_row, ready_row, since_words
from pipeline.store.catalog.experiment_listings import VariantHead
from tests.api.dashboard.listed_shop import BROKEN, SHIP, kept_of
from tests.api.dashboard.test_listed_rows import a_row

NOON = datetime(2026, 11, 27, 12, tzinfo=ZoneInfo("America/New_York"))


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(hours=10), "02:00 today"),
        (timedelta(hours=-1), "13:00 today"),
        (timedelta(hours=13), "23:00 yesterday"),
        (timedelta(days=3), "24 Nov, 3 days"),
        (timedelta(days=365), "27 Nov 2025, 365 days"),
    ],
)
def test_a_time_is_told_with_its_age(ago: timedelta, words: str) -> None:
    assert since_words((NOON - ago).astimezone(ZoneInfo("UTC")), NOON) == words


def test_what_waits_says_why_and_for_whom_and_what_the_wait_costs() -> None:
    reached = (NOON - timedelta(days=18)).astimezone(ZoneInfo("UTC"))
    kept = kept_of(SHIP, is_finished=True)
    kept = replace(
        kept,
        since=reached,
        plan=replace(kept.plan, reached_at=reached),
        projected_annual_revenue_impact_cents=365_00 * 3_388,
    )
    one = ready_row(a_row(kept, url="https://shop.example"), kept, NOON, "Shop")
    assert "No other goal is shown to be harmed. Plan reached 9 Nov." in one.sentence
    assert one.facts["Project"] == "Shop"
    assert one.facts["For"] == "all visitors of shop.example"
    assert one.facts["Ready since"] == "9 Nov, 18 days"
    assert one.facts["Waiting costs"] == "about 3,400 USD a day"
    assert one.step == "Ship “Treatment 1”"
    halves = (VariantHead("a", "Control", is_control=True), VariantHead("b", "Treatment 1"))
    # Half of the visitors have it already; of what has ended, nobody.
    costs: list[tuple[dict[str, Any], str]] = [
        ({}, "1,700"),
        ({"traffic_allocation": 20}, "3,000"),
        ({"status": "completed"}, "3,400"),
    ]
    for fields, cost in costs:
        half = a_row(kept, variants=halves, **fields)
        assert ready_row(half, kept, NOON, None).facts["Waiting costs"] == f"about {cost} USD a day"
    same = replace(kept, verdict="no_difference")
    assert "Waiting costs" not in ready_row(a_row(same), same, NOON, None).facts
    early = replace(kept, plan=replace(kept.plan, reached_at=None, is_reached=False))
    assert "It holds at every look, before the plan." in ready_row(a_row(early), early, NOON, None).sentence


def test_broken_data_name_the_check_and_its_fix() -> None:
    kept = kept_of(BROKEN, is_finished=False)
    one = broken_row(a_row(kept, assigned_user_ids=("mem_1",)), kept, NOON, None)
    assert (one.facts["Failed check"], one.facts["Owner"]) == ("Sample ratio", "Ada")
    assert "44.4% of visitors" in one.sentence
    assert one.step.startswith("Find what loads, redirects or counts otherwise")
    unnamed = replace(kept, open_checks=())
    assert broken_row(a_row(unnamed), unnamed, NOON, None).step == kept.next_step
