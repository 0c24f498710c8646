"""Check of targeting rules: known fields, their operators, bounded depth and size."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.design.targeting.fields import (
    GROUP_OPERATORS,
    MOST_VALUES,
    TARGETING_FIELDS,
    VALUES_OF_OPERATOR,
    TargetingField,
)
from engine.errors import Problem
from engine.validation.check import Check, Schema, object_schema, reference
from engine.validation.patterns import pattern_problem
from engine.validation.records import unknown_keys
from engine.validation.values import (
    at,
    choice,
    in_turn,
    list_of,
    optional,
    shown,
    text,
)

VERSION = 2
DEEPEST = 5
MOST_NODES = 500
EVERYONE: Mapping[str, Any] = {"version": VERSION, "root": {"operator": "and", "children": []}}
# JavaScript's Number() and Python's float() agree on these, not on "1_000" or "0x10".
NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_NUMERIC = frozenset({"gt", "gte", "lt", "lte"})
_VALUES = list_of(text(1024, least=0), at_most=MOST_VALUES)
_KEY_NAME = text(255)
_RULES_KEYS: Mapping[str, Schema] = {
    "version": {"type": "integer", "const": VERSION},
    "root": reference("Group"),
}
_GROUP_KEYS: Mapping[str, Schema] = {
    "operator": choice(GROUP_OPERATORS).schema,
    "children": {
        "type": "array",
        "items": {"anyOf": [reference("Group"), reference("Condition")]},
        "maxItems": MOST_NODES,
    },
}
_CONDITION_KEYS: Mapping[str, Schema] = {
    "field": {
        "type": "string",
        "description": f"One of {', '.join(TARGETING_FIELDS)}.",
        "examples": ["country"],
    },
    "operator": {
        "type": "string",
        "description": f"One of {', '.join(VALUES_OF_OPERATOR)}, as far as the field has it.",
        "examples": ["in"],
    },
    "values": {
        **_VALUES.schema,
        "default": [],
        "description": "With several values, one match is enough; negated operators need that none matches.",
        "examples": [["AT"]],
    },
    "key": {
        **optional(_KEY_NAME).schema,
        "default": None,
        "description": "Name of the cookie, query parameter or custom dimension; only for these fields.",
        "examples": [None],
    },
}
_DEFINITIONS: Mapping[str, Schema] = {
    "TargetingRules": object_schema(
        "TargetingRules",
        "Targeting rules: the visitors who are eligible. A group without children matches every visitor.",
        _RULES_KEYS,
        required=_RULES_KEYS,
    ),
    "Group": object_schema(
        "Group",
        f"Conditions and groups joined by an operator, at most {DEEPEST} deep.",
        _GROUP_KEYS,
        required=_GROUP_KEYS,
    ),
    "Condition": object_schema(
        "Condition",
        "A comparison of one visitor attribute.",
        _CONDITION_KEYS,
        required=("field", "operator"),
    ),
}


def _find_problems(value: object) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem("", f"must be an object with version {VERSION} and root, not {shown(value)}")
        return
    yield from unknown_keys(value, _RULES_KEYS, "targeting rules")
    version = value.get("version")
    if isinstance(version, bool) or version != VERSION:
        yield Problem("version", f"must be {VERSION}, not {shown(version)}")
    if not isinstance(root := value.get("root"), Mapping):
        yield Problem("root", f"must be a group with an operator and children, not {shown(root)}")
    elif _count_nodes(root) > MOST_NODES:
        yield Problem("root", f"holds more than {MOST_NODES} groups and conditions; simplify it")
    else:
        yield from at("root", _group(root, depth=1))


targeting_rules = Check(_find_problems, reference("TargetingRules"), _DEFINITIONS)
"""Check for `{version: 2, root: group}`, down to the last condition."""


def _count_nodes(root: Mapping[str, Any]) -> int:
    """Count groups and conditions at any depth, stopping soon after the limit."""
    waiting: list[Any] = [root]
    count = 0
    while waiting and count <= MOST_NODES:
        node = waiting.pop()
        count += 1
        if isinstance(node, Mapping) and isinstance(children := node.get("children"), list | tuple):
            waiting.extend(children[: MOST_NODES + 1])
    return count


def _group(group: Mapping[str, Any], *, depth: int) -> Iterator[Problem]:
    if depth > DEEPEST:
        yield Problem("", f"is nested more than {DEEPEST} deep; flatten the groups")
        return
    yield from unknown_keys(group, _GROUP_KEYS, "a group")
    operator, children = group.get("operator"), group.get("children")
    yield from at("operator", choice(GROUP_OPERATORS)(operator))
    if not isinstance(children, list | tuple):
        yield Problem("children", f"must be a list of groups and conditions, not {shown(children)}")
        return
    if operator == "not" and len(children) != 1:
        yield Problem(
            "children", f"a not group takes one child, there are {len(children)}; wrap them in a group"
        )
    if operator == "or" and not children:
        yield Problem("children", "an or group without children matches nobody; add a condition")
    for index, child in enumerate(children):
        yield from at(f"children[{index}]", _node(child, depth=depth + 1))


def _node(node: object, *, depth: int) -> Iterator[Problem]:
    if not isinstance(node, Mapping):
        yield Problem("", f"must be a group or a condition, not {shown(node)}")
    elif "children" in node:
        yield from _group(node, depth=depth)
    else:
        yield from _condition(node)


def _condition(condition: Mapping[str, Any]) -> Iterator[Problem]:
    yield from unknown_keys(condition, _CONDITION_KEYS, "a condition")
    problems = tuple(at("field", choice(TARGETING_FIELDS)(condition.get("field"))))
    if problems:
        yield from problems
        return
    name = condition["field"]
    field = TARGETING_FIELDS[name]
    yield from _key(name, field, condition.get("key"))
    problems = tuple(at("operator", choice(field.operators)(condition.get("operator"))))
    yield from problems or at("values", _values(field, condition["operator"])(condition.get("values", ())))


def _key(name: str, field: TargetingField, key: object) -> Iterator[Problem]:
    if not field.requires_key and key is not None:
        yield Problem("key", f"{name} takes no key; leave it out")
    elif field.requires_key and key is None:
        yield Problem("key", f"is required: say which {name.replace('_', ' ')}")
    elif field.requires_key:
        yield from at("key", _KEY_NAME(key))


def _values(field: TargetingField, operator: str) -> Check:
    least, most = VALUES_OF_OPERATOR[operator]

    def check(values: Sequence[str]) -> Iterator[Problem]:
        if not least <= len(values) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most:,}"
            yield Problem("", f"{operator} takes {wanted} values, there are {len(values)}")
        for index, value in enumerate(values):
            if message := _value_problem(field, operator, value):
                yield Problem(f"[{index}]", message)

    return in_turn(_VALUES, check)


def _value_problem(field: TargetingField, operator: str, value: str) -> str | None:
    if operator == "regex":
        return pattern_problem(value)
    if field.enum_values is not None and value not in field.enum_values:
        return f"must be one of {', '.join(field.enum_values)}, not {shown(value)}"
    if (field.data_type == "number" or operator in _NUMERIC) and not NUMBER.fullmatch(value):
        return f"must be a number written as text such as '9' or '-0.5', not {shown(value)}"
    return None
