"""Exchange rates of a project: from any currency that has one into another, to the minor unit."""

from collections.abc import Iterator, Mapping
from typing import Final

from engine.currencies import CURRENCIES, minor_units
from engine.errors import Problem
from engine.validation.check import Check
from engine.validation.values import at, currency, number, shown

LEAST_RATE: Final = 1e-9
MOST_RATE: Final = 1e9
_rate: Final = number(LEAST_RATE, MOST_RATE)


def _find_problems(value: object) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem("", f'must map currencies to rates, such as {{"EUR": 1.08}}, not {shown(value)}')
        return
    for code, rate in value.items():
        yield from at(str(code), [*currency(code), *_rate(rate)])


exchange_rates: Check = Check(
    _find_problems,
    {
        "type": "object",
        "additionalProperties": {"type": "number"},
        "description": 'Other currencies in `revenue_currency`: `{"EUR": 1.08}`.',
        "examples": [{"USD": 0.92}],
    },
)


def minor_unit_factors(usual: str, rates: Mapping[str, float], wanted: str) -> dict[str, float]:
    """Return what a minor unit of each other currency is worth in those of the `wanted` one.

    `rates` are units of the `usual` currency for one of each; other pairs cross through it. A currency
    without a rate is left out: all of them, where the wanted one has none.
    """
    known = {**rates, usual: 1.0}
    if wanted not in known:
        return {}
    return {
        code: rate / known[wanted] * (minor_units(wanted) / minor_units(code))
        for code, rate in known.items()
        if code != wanted and code in CURRENCIES
    }
