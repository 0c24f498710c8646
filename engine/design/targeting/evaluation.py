"""Evaluation of targeting rules: the eligibility of a visitor, with a reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.design.targeting.fields import TARGETING_FIELDS, TargetingField
from engine.design.targeting.rules import NUMBER
from engine.validation.patterns import compile_pattern

__all__ = ["OPERATORS", "TARGETING_FIELDS", "Eligibility", "Targeting", "compile_targeting"]

# Field → text or number; a field that requires a key → key → text or number. Absent or null: unknown.
Attributes: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Eligibility:
    """The result of targeting, with a reason for readers."""

    eligible: bool
    reason: str


# Compiled targeting rules: the eligibility of a visitor with some attributes.
Targeting: TypeAlias = Callable[[Attributes], Eligibility]
# The reason why a part of the rules does not hold, or None if it holds.
_Failure: TypeAlias = Callable[[Attributes], str | None]


def compile_targeting(rules: Mapping[str, Any]) -> Targeting:
    """Compile valid targeting rules, for any number of visitors.

    An unknown attribute satisfies the negated operators (not_equals, not_in, not_contains,
    not_exists) and no other.
    """
    root = rules["root"]
    if not root["children"]:
        everyone = Eligibility(eligible=True, reason="every visitor is eligible")
        return lambda _: everyone
    failure_of = _failure_of(root)
    matching = Eligibility(eligible=True, reason="the visitor matches the targeting rules")

    def targeting(attributes: Attributes) -> Eligibility:
        failure = failure_of(attributes)
        return matching if failure is None else Eligibility(eligible=False, reason=failure)

    return targeting


def _failure_of(node: Mapping[str, Any]) -> _Failure:
    """Compile a group or a condition."""
    if "children" not in node:
        return _condition_failure(node)
    children = [_failure_of(child) for child in node["children"]]
    if node["operator"] == "and":
        return children[0] if len(children) == 1 else lambda attributes: _first(children, attributes)
    reason = "the targeting rules exclude the visitor"
    if node["operator"] == "or":
        reason = "none of the alternatives of the targeting rules holds"
    is_negated = node["operator"] == "not"

    def failure(attributes: Attributes) -> str | None:
        any_holds = any(child(attributes) is None for child in children)
        return reason if any_holds == is_negated else None

    return failure


def _first(children: Sequence[_Failure], attributes: Attributes) -> str | None:
    return next((failure for child in children if (failure := child(attributes)) is not None), None)


def _condition_failure(condition: Mapping[str, Any]) -> _Failure:
    name, operator, key = condition["field"], condition["operator"], condition.get("key")
    field, holds = TARGETING_FIELDS[name], OPERATORS[operator]
    values = condition.get("values", ())
    wanted = [_comparable(field, operator, value) for value in values]
    label = f"{name} {key!r}" if key else name
    wish = f"wanted: {operator} {', '.join(values[:5])}".rstrip()

    def failure(attributes: Attributes) -> str | None:
        known = _known(attributes, name, key)
        if holds(None if known is None else _comparable(field, operator, known), wanted):
            return None
        seen = "not known" if known is None else repr(known[:100])
        return f"{label} is {seen}; {wish}"

    return failure


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


_equals: Operator = lambda actual, wanted: actual is not None and actual in wanted  # noqa: E731  # as is `_exists`
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
