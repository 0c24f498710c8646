"""Checks of single values: text, numbers, times, web addresses, lists, currencies.

The message of a problem says what is wrong with the value and what would pass.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from engine.currencies import CURRENCIES
from engine.errors import Problem
from engine.validation.check import Check, check_with, or_null

URL_LENGTH = 2048
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
_LINE_BREAKS = "\t\n\r"
_SHOWN_LENGTH = 60


def shown(value: object) -> str:
    """Describe a value in a few characters, whatever it is."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN_LENGTH else value[:_SHOWN_LENGTH] + "…")
    if isinstance(value, int):
        # Python refuses to print integers of more than 4,300 digits.
        return str(value) if value.bit_length() <= 64 else "a number of more than 19 digits"
    if isinstance(value, float):
        return str(value)
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def at(path: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Move problems below `path`: `.name` and `[0]` join on without a further dot."""
    for problem in problems:
        dot = "." if path and problem.field and not problem.field.startswith("[") else ""
        yield Problem(f"{path}{dot}{problem.field}", problem.message)


def text(most: int, *, least: int = 1, lines: bool = False) -> Check:
    """Check for text of `least` to `most` characters, all printable; `lines` allows several lines."""
    bounds = {"minLength": least} if least else {}

    def check(value: object) -> Iterator[Problem]:
        if not isinstance(value, str):
            yield Problem("", f"must be text, not {shown(value)}")
        elif len(value) > most:
            yield Problem("", f"is {len(value):,} characters long; at most {most:,} are possible")
        elif least and len(value.strip()) < least:
            yield Problem("", f"must be text of at least {least} characters" if value.strip() else "is blank")
        elif (found := _unprintable(value, lines=lines)) is not None:
            yield Problem("", f"holds the character U+{ord(found):04X}, which is no text; remove it")

    return Check(check, {"type": "string", **bounds, "maxLength": most})


def _unprintable(value: str, *, lines: bool) -> str | None:
    """Return a control character or lone surrogate, which cannot be stored, or None."""
    if value.isprintable():
        return None
    allowed = _LINE_BREAKS if lines else ""
    return next((c for c in value if unicodedata.category(c) in {"Cc", "Cs"} and c not in allowed), None)


def choice(allowed: Iterable[str]) -> Check:
    """Check for one of a closed set of words."""
    known = tuple(allowed)

    def check(value: object) -> Iterator[Problem]:
        if not isinstance(value, str) or value not in known:
            yield Problem("", f"must be one of {', '.join(known)}, not {shown(value)}")

    return Check(check, {"type": "string", "enum": list(known)})


@check_with(type="boolean")
def flag(value: object) -> Iterator[Problem]:
    """Check for true or false; 1 and "yes" are neither."""
    if not isinstance(value, bool):
        yield Problem("", f"must be true or false, not {shown(value)}")


def whole(low: int, high: int) -> Check:
    """Check for a whole number from `low` to `high`; true is not one."""

    def check(value: object) -> Iterator[Problem]:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            yield Problem("", f"must be a whole number from {low:,} to {high:,}, not {shown(value)}")

    return Check(check, {"type": "integer", "minimum": low, "maximum": high})


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a finite number; true is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def number(low: float, high: float) -> Check:
    """Check for a finite number from `low` to `high`; true is not one."""

    def check(value: object) -> Iterator[Problem]:
        if not is_number(value) or not low <= value <= high:
            yield Problem("", f"must be a number from {low:,} to {high:,}, not {shown(value)}")

    return Check(check, {"type": "number", "minimum": low, "maximum": high})


@check_with(type="string", format="date-time")
def moment(value: object) -> Iterator[Problem]:
    """Check for an aware datetime; text that could not be parsed as one is still text here."""
    if not isinstance(value, datetime):
        yield Problem("", f"must be an ISO 8601 time such as 2026-05-01T09:00:00Z, not {shown(value)}")
    elif value.tzinfo is None:
        yield Problem("", f"has no time zone: {value.isoformat()}; end it with Z or an offset such as +02:00")


def _web_address(value: str) -> Iterator[Problem]:
    if not is_web_address(value):
        example = "an absolute http or https address such as https://shop.example"
        yield Problem("", f"must be {example}, not {shown(value)}")


def is_web_address(value: str) -> bool:
    """Return whether text is an absolute http or https address with a host."""
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return False
    no_gaps = not any(c.isspace() for c in value)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port_is_valid and no_gaps


def in_turn(first: Check, then: Callable[[Any], Iterable[Problem]], **schema: str) -> Check:
    """Check by `first`, and what passes by `then`, which may rely on the type; `schema` states `then`."""

    def check(value: object) -> Iterable[Problem]:
        return tuple(first(value)) or then(value)

    return Check(check, {**first.schema, **schema}, first.definitions)


web_address: Check = in_turn(text(URL_LENGTH), _web_address, format="uri")


def slug(most: int) -> Check:
    """Check for a slug: lower-case letters and digits, with single hyphens or underscores between them."""

    def check(value: object) -> Iterator[Problem]:
        if not isinstance(value, str) or len(value) > most or not _SLUG.fullmatch(value):
            yield Problem(
                "", f"must be a slug such as checkout-button, at most {most} long, not {shown(value)}"
            )

    return Check(check, {"type": "string", "maxLength": most, "pattern": f"^{_SLUG.pattern}$"})


def optional(check: Check) -> Check:
    """Check for null or what `check` takes."""

    def check_unless_null(value: object) -> Iterable[Problem]:
        return () if value is None else check(value)

    return Check(check_unless_null, or_null(check.schema), check.definitions)


def list_of(check: Check, *, at_most: int, distinct: bool = True) -> Check:
    """Check for a list of values that each pass `check`, none of them twice unless `distinct` is off."""
    uniqueness = {"uniqueItems": True} if distinct else {}

    def check_all(value: object) -> Iterator[Problem]:
        if not isinstance(value, list | tuple):
            yield Problem("", f"must be a list, not {shown(value)}")
            return
        if len(value) > at_most:
            yield Problem("", f"holds {len(value):,} values; at most {at_most:,} are possible")
            return
        problems = [problem for i, item in enumerate(value) for problem in at(f"[{i}]", check(item))]
        yield from problems
        if distinct and not problems:
            yield from repeated(value)

    schema = {"type": "array", "items": check.schema, "maxItems": at_most, **uniqueness}
    return Check(check_all, schema, check.definitions)


def repeated(values: Iterable[object], name: str = "") -> Iterator[Problem]:
    """Yield a problem for every text that repeats an earlier one; `name` is the field it is the value of."""
    seen = set()
    for index, value in enumerate(values):
        if isinstance(value, str) and value in seen:
            yield from at(f"[{index}]", [Problem(name, f"{shown(value)} is there twice; each must differ")])
        if isinstance(value, str):
            seen.add(value)


@check_with(type="string", pattern="^[A-Z]{3}$")
def currency(value: object) -> Iterator[Problem]:
    """Check for an ISO 4217 code in capitals."""
    if not isinstance(value, str) or value not in CURRENCIES:
        yield Problem("", f"must be an ISO 4217 currency code such as USD, not {shown(value)}")
