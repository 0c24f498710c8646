"""Evaluation of targeting rules: the eligibility of a visitor, with a reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.design.targeting.fields import TARGETING_FIELDS, TargetingField
from engine.design.targeting.rules import NUMBER
from engine.design.validation.patterns import compile_pattern

__all__ = ["TARGETING_FIELDS", "Eligibility", "evaluate"]

Attributes = Mapping[str, Any]
"""Field → text or number; a field that requires a key → key → text or number. Absent or null: unknown."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """The result of targeting, with a reason for readers."""

    eligible: bool
    reason: str


def evaluate(rules: Mapping[str, Any], attributes: Attributes) -> Eligibility:
    """Evaluate valid targeting rules on a visitor's attributes.

    An unknown attribute satisfies the negated operators (not_equals, not_in, not_contains,
    not_exists) and no other.
    """
    root = rules["root"]
    if not root["children"]:
        return Eligibility(eligible=True, reason="every visitor is eligible")
    failure = _failure(root, attributes)
    return Eligibility(failure is None, failure or "the visitor matches the targeting rules")


def _failure(node: Mapping[str, Any], attributes: Attributes) -> str | None:
    """Return the reason why a node does not hold, or None if it holds."""
    if "children" not in node:
        return _condition_failure(node, attributes)
    failures = (_failure(child, attributes) for child in node["children"])
    if node["operator"] == "and":
        return next((failure for failure in failures if failure), None)
    if node["operator"] == "or":
        return None if None in failures else "none of the alternatives of the targeting rules holds"
    return "the targeting rules exclude the visitor" if None in failures else None


def _condition_failure(condition: Mapping[str, Any], attributes: Attributes) -> str | None:
    name, operator, key = condition["field"], condition["operator"], condition.get("key")
    field = TARGETING_FIELDS[name]
    known = _known(attributes, name, key)
    actual = None if known is None else _comparable(field, operator, known)
    wanted = [_comparable(field, operator, value) for value in condition.get("values", ())]
    if OPERATORS[operator](actual, wanted):
        return None
    label = f"{name} {key!r}" if key else name
    values = ", ".join(condition.get("values", ())[:5])
    seen = "not known" if known is None else repr(known[:100])
    return f"{label} is {seen}; wanted: {operator} {values}".rstrip()


def _known(attributes: Attributes, name: str, key: str | None) -> str | None:
    """Return an attribute as text; None where it is unknown or neither text nor number."""
    value = attributes.get(name)
    if key is not None:
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _comparable(field: TargetingField, operator: str, value: str) -> str:
    """Normalize a side of a comparison: 7 equals 07, and Chrome equals chrome."""
    if operator == "regex":
        return value
    if field.data_type == "number" and NUMBER.fullmatch(value):
        return repr(float(value))
    return value.lower() if field.ignores_case else value


Operator = Callable[[str | None, Sequence[str]], bool]


def _any(holds: Callable[[str, str], bool]) -> Operator:
    return lambda actual, wanted: actual is not None and any(holds(actual, value) for value in wanted)


def _none(operator: Operator) -> Operator:
    return lambda actual, wanted: not operator(actual, wanted)


def _ordered(holds: Callable[[float, float], bool]) -> Operator:
    def compare(actual: str, wanted: str) -> bool:
        return NUMBER.fullmatch(actual) is not None and holds(float(actual), float(wanted))

    return _any(compare)


_equals = _any(lambda actual, value: actual == value)
_contains = _any(lambda actual, value: value in actual)
_exists: Operator = lambda actual, _: actual is not None  # noqa: E731  # one line beside its kin

OPERATORS: dict[str, Operator] = {
    "equals": _equals,
    "not_equals": _none(_equals),
    "in": _equals,
    "not_in": _none(_equals),
    "contains": _contains,
    "not_contains": _none(_contains),
    "starts_with": _any(str.startswith),
    "ends_with": _any(str.endswith),
    "regex": _any(lambda actual, pattern: compile_pattern(pattern)(actual)),
    "exists": _exists,
    "not_exists": _none(_exists),
    "gt": _ordered(lambda actual, value: actual > value),
    "gte": _ordered(lambda actual, value: actual >= value),
    "lt": _ordered(lambda actual, value: actual < value),
    "lte": _ordered(lambda actual, value: actual <= value),
}
