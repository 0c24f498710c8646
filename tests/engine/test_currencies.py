import pytest

from engine.currencies import CURRENCIES, UNUSUAL_MINOR_UNITS, minor_unit_digits, minor_units


# ISO 4217, list one.
@pytest.mark.parametrize(
    ("currency", "digits"),
    [
        ("USD", 2),
        ("EUR", 2),
        ("HUF", 2),
        ("JPY", 0),
        ("KRW", 0),
        ("ISK", 0),
        ("KWD", 3),
        ("BHD", 3),
        ("TND", 3),
    ],
)
def test_the_digits_of_a_currency_are_those_of_the_standard(currency: str, digits: int) -> None:
    assert (minor_unit_digits(currency), minor_units(currency)) == (digits, 10**digits)


def test_an_unknown_code_has_a_hundred_minor_units() -> None:
    assert minor_units("QQQ") == 100


def test_currencies_with_unusual_units_are_listed() -> None:
    # Funds codes are units of account, in which no shop sells.
    assert set(UNUSUAL_MINOR_UNITS) - {"CLF", "UYI", "UYW"} <= CURRENCIES
