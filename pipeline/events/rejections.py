"""Why one event is rejected: the codes, and the bounds that ids, amounts and texts keep to."""

from typing import Final

MAX_EVENT_BYTES: Final = 32 * 1024
MAX_ID_LENGTH: Final = 200
MAX_NAME_LENGTH: Final = 200
MAX_SELECTOR_LENGTH: Final = 2_000
MAX_URL_LENGTH: Final = 8_000
# Ten thousand million of the currency's main unit: a thousand such orders still add up exactly.
MAX_CENTS: Final = 10**12
MAX_VALUE: Final = 1e15

JUNK_IDS: Final = frozenset({"", "null", "undefined", "[object Object]", "NaN"})

# Stable codes, and when an event gets them.
CODES: Final = {
    "invalid_event": "no JSON object, a field of another type, or a field missing that its type needs",
    "event_too_large": "larger than 32 KiB",
    "invalid_event_id": "event_id missing, junk such as `undefined`, or longer than 200 characters",
    "invalid_visitor_id": "visitor_id missing, junk, or too long",
    "invalid_user_id": "user_id junk or too long",
    "invalid_transaction_id": "transaction_id junk or too long",
    "invalid_type": "type is none of the event types, or kind is neither conversion nor refund",
    "invalid_timestamp": "timestamp neither ISO 8601 nor milliseconds since 1970",
    "timestamp_too_old": "happened more than 30 days ago",
    "unknown_experiment": "an exposure to an experiment that the project does not have",
    "unknown_variant": "an exposure to a variant that the experiment does not have",
    "unknown_goal": "a conversion of a goal that the project does not have",
    "invalid_value": "value or revenue_cents out of bounds, or a refund without revenue_cents",
    "invalid_currency": "currency is no three-letter code",
    "excluded_address": "sent from a network address that the project's settings exclude",
    "invalid_attributes": "an attribute that is no text, number or boolean, or over 50 custom dimensions",
}

# The code for a field whose JSON type is wrong; `invalid_event` for every other field.
CODE_OF_FIELD: Final = {
    "event_id": "invalid_event_id",
    "visitor_id": "invalid_visitor_id",
    "user_id": "invalid_user_id",
    "transaction_id": "invalid_transaction_id",
    "type": "invalid_type",
    "kind": "invalid_type",
    "timestamp": "invalid_timestamp",
    "value": "invalid_value",
    "revenue_cents": "invalid_value",
    "currency": "invalid_currency",
    "attributes": "invalid_attributes",
}


class RejectedError(ValueError):
    """One event that is not stored: a code of CODES, and a sentence for whoever sent it."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code apart from the sentence."""
        self.code = code
        super().__init__(message)


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
    """Return the id or None where there is none; RejectedError where it is junk or too long."""
    return None if value is None else checked_id(field, value)


def checked_cents(cents: int | None, *, is_refund: bool) -> int | None:
    """Return an amount from 0 to MAX_CENTS, which a refund must have."""
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
    """Return a number whose size is within MAX_VALUE."""
    if value is not None and not -MAX_VALUE <= value <= MAX_VALUE:
        raise RejectedError("invalid_value", f"value must be within ±{MAX_VALUE:g}")
    return value


def checked_currency(currency: str | None) -> str | None:
    """Return a three-letter code in capitals."""
    if currency is None:
        return None
    if not (len(currency) == len("USD") and currency.isascii() and currency.isalpha()):
        raise RejectedError("invalid_currency", f"currency {currency[:20]!r} is no code such as USD")
    return currency.upper()


def checked_text(field: str, text: str | None, limit: int) -> str | None:
    """Return a text that is short enough; None where it is empty."""
    if not text:
        return None
    if len(text) > limit:
        raise RejectedError("invalid_event", f"{field} has {len(text)} characters; at most {limit}")
    return text
