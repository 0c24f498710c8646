"""Formats: numbers and times as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from api.dashboard import formats
from engine.analysis.results.variant_result import Interval


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (17.12, "+17.1%"),
        (-3.0, "\N{MINUS SIGN}3.0%"),
        (0.0, "0%"),
        (-0.04, "0%"),
        (1234.5, "+1,234.5%"),
        (None, "\N{EN DASH}"),
    ],
)
def test_changes_have_a_sign_and_none_is_zero(value: float | None, shown: str) -> None:
    assert formats.change(value) == shown


def test_intervals_may_be_open() -> None:
    assert formats.interval(Interval(low=0.01, high=0.02, level=0.95)) == "+1.0% to +2.0%"
    assert (
        formats.interval(Interval(low=None, high=None, level=0.95))
        == "\N{MINUS SIGN}\N{INFINITY} to \N{INFINITY}"
    )
    assert formats.interval(None) == formats.ABSENT


@pytest.mark.parametrize(
    ("minor_units", "currency", "shown"),
    [
        # Minor units by ISO 4217: a hundredth, none, a thousandth.
        (4119853, "EUR", "41,198.53 EUR"),
        (4119853, "JPY", "4,119,853 JPY"),
        (4119853, "KWD", "4,119.853 KWD"),
        (-5, "USD", "\N{MINUS SIGN}0.05 USD"),
        (None, "USD", "\N{EN DASH}"),
    ],
)
def test_amounts_have_the_minor_units_of_their_currency(
    minor_units: float | None, currency: str, shown: str
) -> None:
    assert formats.money(minor_units, currency) == shown


def test_counts_and_dates_are_readable() -> None:
    assert formats.count(12345) == "12,345"
    assert formats.percent(4.678) == "4.68%"
    assert formats.day("2026-10-26T23:00:00Z") == "26 Oct 2026"
    assert formats.words("keep_running") == "keep running"


@pytest.mark.parametrize(
    ("age", "shown"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=-1), "just now"),
        (timedelta(days=3, hours=1), "3 days ago"),
    ],
)
def test_times_are_shown_by_their_age(age: timedelta, shown: str) -> None:
    assert formats.ago((datetime.now(UTC) - age).isoformat()) == shown
