"""Currency of the amounts in a DataFrame: one, or one for each goal."""

from collections.abc import Collection, Mapping

from engine.currencies import USUAL_CURRENCY
from engine.errors import InvalidEvidenceError

Currency = str | Mapping[str, str]


def currency_of(goal: str, currency: Currency) -> str:
    """Return the ISO 4217 code of a goal's amounts: the one of all, or its own."""
    return currency if isinstance(currency, str) else currency.get(goal, USUAL_CURRENCY)


def require_goals(currency: Currency, goals: Collection[str]) -> None:
    """Raise InvalidEvidenceError where a currency is of no goal."""
    unknown = [] if isinstance(currency, str) else sorted(set(currency) - set(goals))
    if unknown:
        raise InvalidEvidenceError(f"currency names no goals: {', '.join(map(repr, unknown))}")
