"""Distinct: the values of a field of a visitor's events, each counted once."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from engine.errors import Problem
from engine.measures.count import COUNT
from engine.measures.event_selection import EVENT_FIELDS, OWN_ATTRIBUTE
from engine.validation.check import check_with
from engine.validation.values import shown


@check_with(type="string")
def _field(value: object) -> Iterator[Problem]:
    is_attribute = isinstance(value, str) and value.startswith(OWN_ATTRIBUTE) and value != OWN_ATTRIBUTE
    if not (isinstance(value, str) and (is_attribute or value in EVENT_FIELDS)):
        known = f"{', '.join(EVENT_FIELDS)} or an attribute such as {OWN_ATTRIBUTE}sku"
        yield Problem("", f"must be {known}, not {shown(value)}")


DISTINCT: Final = replace(
    COUNT,
    word="distinct",
    description=(
        "the distinct values of their `field` per visitor: `url`, `transaction_id` or `custom:` and the key "
        "of an attribute"
    ),
    keys={"field": _field},
    keys_are="names what distinct values are of: leave it out, or measure the goal by 'distinct'",
    needed_of_events=("field", "is required: what distinct values are counted of, such as 'custom:sku'"),
    field_of_events=lambda config: config.get("field"),
)
