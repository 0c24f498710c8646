"""Errors of columns that cannot be counted, the same for every kind of frame."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from engine.errors import InvalidEvidenceError

# Beyond this, doubles skip whole numbers.
MOST_WHOLE: Final = 2.0**53
# Sums of whole numbers are of 64 bits; just below their limit, because this sum itself is of doubles.
MOST_TOGETHER: Final = 2.0**63 * (1.0 - 1e-6)

# Sums of cubes of larger numbers, and the products that tests are made of, are beyond doubles.
MOST_NUMBER: Final = 1e50


def require_column(name: str, known: Sequence[str]) -> None:
    """Raise InvalidEvidenceError for a column that a frame does not have."""
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known))}"
        raise InvalidEvidenceError(f"there is no column {name!r}; {hint}")


def no_rows() -> InvalidEvidenceError:
    """Describe a frame without rows."""
    return InvalidEvidenceError("the frame has no rows")


def missing_values(name: str, rows: int) -> InvalidEvidenceError:
    """Describe a variant, visitor or time that is null in so many rows."""
    return InvalidEvidenceError(f"{name!r} says nothing in {rows:,} rows; fill them or leave them out")


def _holds(name: str, content: str) -> InvalidEvidenceError:
    return InvalidEvidenceError(f"{name!r} holds {content}")


def not_times(name: str, dtype: object, hint: str = "make it a datetime column") -> InvalidEvidenceError:
    """Describe a column of another type than times."""
    return _holds(name, f"{dtype}, not times; {hint}")


def not_numbers(name: str, dtype: object) -> InvalidEvidenceError:
    """Describe a column of another type than numbers."""
    return _holds(name, f"{dtype}, not numbers")


def infinite_numbers(name: str) -> InvalidEvidenceError:
    """Describe a column of numbers of which some are infinite."""
    return _holds(name, "infinite numbers")


def numbers_too_large(name: str, most: float = MOST_NUMBER) -> InvalidEvidenceError:
    """Describe a column of numbers of which some have no sums of squares and cubes in doubles."""
    return _holds(name, f"numbers beyond {most:.0e}, too large to be added up; give them in a larger unit")


def not_conversions(name: str, dtype: object) -> InvalidEvidenceError:
    """Describe a goal of another type than conversions."""
    return _holds(name, f"{dtype}; a goal is true or false, or 1 or 0")


def other_than_conversions(name: str) -> InvalidEvidenceError:
    """Describe a goal of numbers that are not all 0 or 1."""
    return _holds(
        name,
        "other numbers than 0 and 1; if they are amounts, make it a revenue goal,"
        " and a count or value goal if they are other numbers",
    )


def not_amounts(name: str, dtype: object) -> InvalidEvidenceError:
    """Describe a revenue goal of another type than numbers."""
    return _holds(name, f"{dtype}; revenue is a number, such as 19.95")


def amounts_too_large(name: str) -> InvalidEvidenceError:
    """Describe amounts beyond whole doubles."""
    return _holds(name, "amounts that are too large to be counted in cents")


def total_too_large(name: str) -> InvalidEvidenceError:
    """Describe amounts whose sum is beyond 64 bits."""
    return InvalidEvidenceError(f"{name!r} adds up to more cents than 64 bits can hold; give smaller amounts")


def not_counts(name: str, dtype: object) -> InvalidEvidenceError:
    """Describe a goal of another type than counts."""
    return _holds(name, f"{dtype}; a count is a whole number")


def other_than_counts(name: str) -> InvalidEvidenceError:
    """Describe a goal of numbers that are not all counts."""
    return _holds(name, "numbers that are no counts (0, 1, 2, …); for other numbers make it a value goal")


def counts_too_large(name: str) -> InvalidEvidenceError:
    """Describe counts whose sum is beyond 64 bits."""
    return InvalidEvidenceError(f"{name!r} adds up to more than 64 bits can hold; give smaller counts")
