"""Normalized targeting rules: what a browser evaluates without the definitions of the fields."""

from collections.abc import Callable, Mapping
from typing import Any

from engine.design.targeting.fields import TARGETING_FIELDS
from engine.design.targeting.rules import NUMBER


def normalized_targeting(
    rules: Mapping[str, Any], automaton_of: Callable[[str], int]
) -> dict[str, Any] | None:
    """Return the root group of valid targeting rules for a browser; None where every visitor is eligible.

    A condition is `{field, operator}` with `key`, `values` and `ignores_case` where they apply: values are in
    lower case where the field ignores case, and numbers in their shortest form. Regular expressions are
    `automata`, which `automaton_of` numbers.
    """
    root = rules["root"]
    return _group(root, automaton_of) if root["children"] else None


def _group(group: Mapping[str, Any], automaton_of: Callable[[str], int]) -> dict[str, Any]:
    children = [
        _group(child, automaton_of) if "children" in child else _condition(child, automaton_of)
        for child in group["children"]
    ]
    return {"operator": group["operator"], "children": children}


def _condition(condition: Mapping[str, Any], automaton_of: Callable[[str], int]) -> dict[str, Any]:
    field = TARGETING_FIELDS[condition["field"]]
    normalized = {"field": condition["field"], "operator": condition["operator"]}
    if key := condition.get("key"):
        normalized["key"] = key
    values = condition.get("values", ())
    if condition["operator"] == "regex":
        return {**normalized, "automata": [automaton_of(pattern) for pattern in values]}
    if field.data_type == "number":
        values = [_shortest(value) for value in values]
    elif field.ignores_case:
        normalized["ignores_case"] = True
        values = [value.lower() for value in values]
    return {**normalized, "values": list(dict.fromkeys(values))} if values else normalized


def _shortest(value: str) -> str:
    """Write a number as JavaScript does: 7 for 07 and 7.0."""
    number = float(value) if NUMBER.fullmatch(value) else None
    return value if number is None else repr(number).removesuffix(".0")
