from datetime import date

import pytest

from engine.analysis.results.formatting import (
    chance,
    day,
    difference,
    figure,
    listed,
    money,
    p_text,
    share,
    signed,
    signed_figure,
)
from engine.vocabulary import MetricUnit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0%"),
        (0.0036, "0.36%"),
        (0.05, "5%"),
        (0.1219, "12.2%"),
        (0.975, "97.5%"),
        (0.9947, "99.47%"),
        (1, "100%"),
        (0.00002, "0.002%"),
        (0.99996, "99.996%"),
    ],
)
def test_a_share_has_the_digits_it_deserves(value: float, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "less than 0.01%"), (1.0, "more than 99.99%"), (0.114, "11.4%")]
)
def test_a_chance_is_never_none_and_never_certain(value: float, text: str) -> None:
    assert chance(value) == text


def test_a_change_has_a_sign_that_stays_with_it() -> None:
    assert signed(0.721) == "+72.1%"
    assert signed(-0.2) == "\N{MINUS SIGN}20%"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0002, "+0.02%"),
        (-0.00049, "\N{MINUS SIGN}0.05%"),
        (0.0000031, "+0.0003%"),
        (0.00051, "+0.1%"),
        (0.0, "0%"),
        # A rounding error of equal rates.
        (-2.2e-16, "0%"),
    ],
)
def test_a_small_change_is_never_shown_as_none(value: float, text: str) -> None:
    assert signed(value) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.391, "= 0.39"), (0.05004, "= 0.05004"), (0.04998, "= 0.04998"), (0.05, "= 0.05"), (1e-9, "< 0.0001")],
)
def test_a_p_value_does_not_round_onto_its_level(p: float, text: str) -> None:
    assert p_text(p, 0.05) == text


def test_a_day_has_its_month_in_words() -> None:
    assert day(date(2026, 3, 2)) == "2 March 2026"


def test_a_list_ends_with_and() -> None:
    assert [listed(["a", "b", "c"][:count]) for count in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_money_is_whole_where_it_is_large() -> None:
    assert money(142, "USD") == "1.42 USD"
    # ISO 4217: the yen has no minor unit, the Kuwaiti dinar a thousand.
    assert [money(142, "JPY"), money(142_000, "JPY")] == ["142 JPY", "142,000 JPY"]
    assert [money(1_420, "KWD"), money(1_420_000, "KWD")] == ["1.420 KWD", "1,420 KWD"]
    assert money(-123_456_789, "EUR") == "\N{MINUS SIGN}1,234,568 EUR"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (12.0, "12"),
        (1.26912, "1.269"),
        (0.00012345, "0.0001234"),
        (123_456.7, "123,457"),
        (-0.5434, "\N{MINUS SIGN}0.5434"),
        (100.0, "100"),
    ],
)
def test_a_figure_has_about_four_digits(value: float, text: str) -> None:
    assert figure(value) == text


def test_a_difference_has_its_sign() -> None:
    assert (signed_figure(0.36), signed_figure(-0.36)) == ("+0.36", "\N{MINUS SIGN}0.36")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.04, "share", "+4 percentage points"),
        (-0.01, "share", "\N{MINUS SIGN}1 percentage point"),
        (882.0, "cents", "+8.82 USD"),
        (-882.0, "cents", "\N{MINUS SIGN}8.82 USD"),
        (0.36, "number", "+0.36"),
    ],
)
def test_a_difference_is_in_the_unit_of_its_goal(value: float, unit: MetricUnit, text: str) -> None:
    assert difference(value, unit, "USD") == text
