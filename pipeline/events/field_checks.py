"""Checks of field values: ids, amounts, currencies and text lengths."""

from engine.validation.sent_ids import JUNK_IDS, MAX_ID_LENGTH
from pipeline.events.rejections import RejectedError
from pipeline.events.schema import MAX_CENTS, MAX_VALUE


def checked_id(field: str, value: str | None) -> str:
    """Return the id, or raise RejectedError where it is missing, junk or too long."""
    if value is None or value.strip() in JUNK_IDS:
        raise RejectedError(f"invalid_{field}", f"{field} is {value!r}; send the id that your code knows")
    if len(value) > MAX_ID_LENGTH:
        raise RejectedError(
            f"invalid_{field}", f"{field} has {len(value)} characters; at most {MAX_ID_LENGTH}"
        )
    return value


def optional_id(field: str, value: str | None) -> str | None:
    """Return the id, or None where it is absent; RejectedError where it is junk or too long."""
    return None if value is None else checked_id(field, value)


def checked_cents(cents: int | None, *, is_refund: bool) -> int | None:
    """Return an amount from 0 to MAX_CENTS, which a refund must have; RejectedError otherwise."""
    if cents is None:
        if is_refund:
            raise RejectedError("invalid_value", "a refund needs revenue_cents, the amount paid back")
        return None
    if not 0 <= cents <= MAX_CENTS:
        raise RejectedError(
            "invalid_value",
            f"revenue_cents must be from 0 to {MAX_CENTS}; for money paid back send kind `refund`",
        )
    return cents


def checked_value(value: float | None) -> float | None:
    """Return a number within ±MAX_VALUE, or None; RejectedError otherwise."""
    if value is not None and not -MAX_VALUE <= value <= MAX_VALUE:
        raise RejectedError("invalid_value", f"value must be within ±{MAX_VALUE:g}")
    return value


def checked_currency(currency: str | None) -> str | None:
    """Return a three-letter currency code in capitals, or None; RejectedError otherwise."""
    if currency is None:
        return None
    if not (len(currency) == len("USD") and currency.isascii() and currency.isalpha()):
        raise RejectedError("invalid_currency", f"currency {currency[:20]!r} is no code such as USD")
    return currency.upper()


def checked_text(field: str, text: str | None, limit: int) -> str | None:
    """Return a text of at most `limit` characters, or None for an empty one; RejectedError otherwise."""
    if not text:
        return None
    if len(text) > limit:
        raise RejectedError("invalid_event", f"{field} has {len(text)} characters; at most {limit}")
    return text
