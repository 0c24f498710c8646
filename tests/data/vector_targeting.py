"""Targeting of the published assignment vectors: conditions of every field and operator, and groups."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from engine.design.targeting.fields import TARGETING_FIELDS, VALUES_OF_OPERATOR

HOME: Final = "https://shop.example/"
# A value of rules and another one, with values of visitors: equal, in another case, around it, another, none.
TEXTS: Final = (
    ("Berlin", "Paris", ("Berlin", "bERLIN", "East Berlin 2", "Rome", None)),
    ("Zürich", "東京", ("Zürich", "ZÜRICH", "東京都", "Bern", "")),
    ("x=1", "😀", ("x=1", "X=1", "a😀", "x=2", None)),
    ("20", "7", ("20", "20.0", "120", "7 ", None)),
)
NUMBERS: Final = ("10", "9.5", "-3")
COMPARED: Final = (10, "10.0", 9.25, "-4", "ten")
PATTERNS: Final = ("^Ber", "lin$", r"[a-z]\d?", "ürich|^x", ".😀")
COUNTRIES: Final = ("DE", "FR", ("DE", "de", "GB", "FR", None))
KEYS: Final = {"query_param": "plan", "cookie": "seen", "custom_dimension": "tarif-é"}
HOURS: Final = ("7", "23", "0")
# 7:30 in New York, 23:59 in Kolkata, midnight in UTC, and two hours that clocks skip or repeat.
TIMES: Final = (
    datetime(2026, 3, 4, 12, 30, tzinfo=UTC),
    datetime(2026, 3, 8, 18, 29, tzinfo=UTC),
    datetime(2026, 3, 9, 0, 0, tzinfo=UTC),
    datetime(2026, 3, 8, 7, 0, tzinfo=UTC),
    datetime(2026, 11, 1, 5, 30, tzinfo=UTC),
)
ZONES: Final = ("UTC", "America/New_York", "Asia/Kolkata")

Visits = list[dict[str, Any]]
Rules = dict[str, Any]


def condition_visits(draw: random.Random) -> Iterator[tuple[str, Rules, Visits]]:
    """Yield a time zone, rules of one condition, and visits, of every field with every operator."""
    for name, field in TARGETING_FIELDS.items():
        for place, operator in enumerate(field.operators):
            zone = ZONES[place % 3] if name in {"day_of_week", "hour_of_day"} else "UTC"
            values, visits = _compared(name, operator, place)
            least, most = VALUES_OF_OPERATOR[operator]
            condition = {"field": name, "operator": operator, "values": values[: max(least, min(most, 2))]}
            if not most:
                condition["values"] = []
            if field.requires_key:
                condition["key"] = KEYS[name]
            children: list[Rules] = [condition]
            if draw.random() < 0.1:
                children = [{"operator": "not", "children": children}]
            yield zone, {"version": 2, "root": {"operator": "and", "children": children}}, visits


def _compared(name: str, operator: str, place: int) -> tuple[list[str], Visits]:
    """Return values of a rule, and visits that fit it or do not."""
    field = TARGETING_FIELDS[name]
    if name in {"day_of_week", "hour_of_day"}:
        own = ["sunday", "monday"] if name == "day_of_week" else [HOURS[place % 3], "12"]
        return own, [{"now": time} for time in TIMES[:4]]
    if name == "visitor_identity":
        return ["identified", "anonymous"][place % 2 :], [
            {"user_id": "u1"}, {}, {"attributes": {"visitor_identity": "Identified"}}, {"user_id": "é"},
        ]  # fmt: skip
    if field.enum_values:
        first, second = field.enum_values[:2]
        return [first], [_visit(name, one) for one in (first, first.upper(), second, None)]
    if operator in {"gt", "gte", "lt", "lte"}:
        return [NUMBERS[place % 3]], [_visit(name, one) for one in COMPARED[place % 2 :][:4]]
    first, second, seen = COUNTRIES if name == "country" else TEXTS[place % 4]
    visits = [_visit(name, one) for one in (seen[0], seen[1], *(seen[2:4] if place % 2 else seen[3:]))]
    return [PATTERNS[place % 5]] if operator == "regex" else [first, second], visits


def _visit(name: str, value: object) -> dict[str, Any]:
    """Build a visit on which a field has a value, as browsers and servers give it; None for none."""
    key = KEYS.get(name, "")
    # As text in an address.
    query = quote(str(value))
    places: dict[str, dict[str, Any]] = {
        "url": {"url": f"{HOME}{value}"},
        "query_param": {"url": f"{HOME}?a=b&{key}={query}#{key}=no"},
        "cookie": {"attributes": {"cookies": {key: value, "other": "1"}}},
        "custom_dimension": {"attributes": {key: value}},
        **{utm: {"url": f"{HOME}?{utm}={query}"} for utm in ("utm_source", "utm_medium", "utm_campaign")},
    }
    return {} if value is None else places.get(name, {"attributes": {name: value}})


def nested_rules(draw: random.Random) -> Rules:
    """Draw groups of conditions, up to three deep."""

    def condition() -> Rules:
        name = draw.choice(("country", "device_type", "utm_source", "city"))
        value = draw.choice(
            {"country": ["DE", "FR"], "device_type": ["mobile", "tablet"]}.get(name, ["a", "é"])
        )
        operator = draw.choice(("equals", "not_equals", "in", "exists", "not_exists"))
        values = [] if "exists" in operator else [value]
        return {"field": name, "operator": operator, "values": values}

    def group(depth: int) -> Rules:
        operator = draw.choice(("and", "or", "not"))
        several = 1 if operator == "not" else draw.randint(1, 3)
        children = [
            group(depth - 1) if depth and draw.random() < 0.5 else condition() for _ in range(several)
        ]
        return {"operator": operator, "children": children}

    return {"version": 2, "root": group(2)}


def nested_visits(draw: random.Random, number: int) -> Visits:
    """Draw visits with some of the attributes that `nested_rules` compares."""
    values: dict[str, tuple[str, ...]] = {
        "country": ("DE", "FR", "GB"),
        "device_type": ("mobile", "desktop"),
        "utm_source": ("a", "É", "b"),
        "city": ("a", "é", "Rome"),
    }
    return [
        {"attributes": {name: draw.choice(known) for name, known in values.items() if draw.random() < 0.7}}
        for _ in range(number)
    ]
