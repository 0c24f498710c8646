"""Which currencies there are."""

import pytest

from engine.currencies import CURRENCIES
from engine.validation.values import currency


def test_codes_are_three_capitals() -> None:
    assert all(len(code) == 3 and code.isalpha() and code.isupper() for code in CURRENCIES)


# ISO 4217: the ten most traded (BIS Triennial Survey 2022), and some that are young.
@pytest.mark.parametrize(
    "code", ["USD", "EUR", "JPY", "GBP", "CNY", "AUD", "CAD", "CHF", "HKD", "SGD", "XCG", "ZWG", "SLE"]
)
def test_money_in_circulation_is_known(code: str) -> None:
    assert list(currency(code)) == []


@pytest.mark.parametrize("value", ["usd", "DEM", "XXX", "US$", "", None, 840, ["USD"]])
def test_anything_else_is_refused_with_an_example(value: object) -> None:
    (problem,) = currency(value)
    assert problem.message.startswith("must be an ISO 4217 currency code such as USD")
