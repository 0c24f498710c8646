"""Currencies: ISO 4217 codes, and the minor units of each.

Source: ISO 4217 list one of 1 January 2026, as the PyPI package iso4217 1.16.20260101 has it, by which
the codes and their minor units were checked; VED and the codes of funds, metals and tests are left out.
Not by the package Babel, whose digits are those that prices are written with: they differ from ISO 4217 for
13 of these currencies, among them IQD with 0 in place of 3.
"""

from collections.abc import Mapping
from typing import Final

# Of projects and data frames that name none.
USUAL_CURRENCY: Final = "USD"
# Ten thousand million units of a currency with cents: a thousand such amounts still add up exactly.
MAX_MINOR_UNITS: Final = 10**12
_USUAL_DIGITS: Final = 2
_USUAL_MINOR_UNITS: Final = 100
# Decimal digits of the currencies that have another number of them than two.
_DIGITS: Final = {
    **dict.fromkeys(
        "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(),  # noqa: SIM905
        0,
    ),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),  # noqa: SIM905
    **dict.fromkeys(("CLF", "UYW"), 4),
}
# BGN left circulation in 2026 and ANG in 2025; orders made before still carry them.
CURRENCIES: Final = frozenset(
    """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD
    CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ
    GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR
    LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN
    PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB
    TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905  # a table of codes reads best without a quote on each
)
# Minor units in one unit of each currency that has not a hundred of them.
UNUSUAL_MINOR_UNITS: Final[Mapping[str, int]] = {currency: 10**digits for currency, digits in _DIGITS.items()}


def minor_unit_digits(currency: str) -> int:
    """Return the decimal digits of an amount: 2 for USD, 0 for JPY, 3 for KWD; 2 for an unknown currency."""
    return _DIGITS.get(currency, _USUAL_DIGITS)


def minor_units(currency: str) -> int:
    """Return the minor units in one unit: 100 for USD, 1 for JPY, 1000 for KWD; 100 for an unknown one."""
    return UNUSUAL_MINOR_UNITS.get(currency, _USUAL_MINOR_UNITS)
