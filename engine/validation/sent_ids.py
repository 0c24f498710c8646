"""Ids that callers send: placeholders that are none, their length, and the one text of each."""

from typing import Final

JUNK_IDS: Final = frozenset({"", "null", "undefined", "[object Object]", "NaN"})
MAX_ID_LENGTH: Final = 200
# Beyond it a browser does not tell a whole number from its neighbours.
MAX_WHOLE: Final = 2**53 - 1


def whole_text(value: float) -> str | None:
    """Write a whole number within ±MAX_WHOLE in digits, 12.0 as 12: JSON does not tell them apart."""
    if -MAX_WHOLE <= value <= MAX_WHOLE and value == int(value):
        return str(int(value))
    return None


def id_text(value: object) -> str | None:
    """Return an id as text without space around it, a whole number in its digits.

    None for any other number, a boolean, an object, a placeholder such as `undefined`, and a text of more
    than MAX_ID_LENGTH characters.
    """
    if isinstance(value, str):
        text = value.strip()
        return None if text in JUNK_IDS or len(text) > MAX_ID_LENGTH else text
    return whole_text(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
