"""Checks of values, each with the JSON schema of the values that pass."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.errors import Problem

Schema = Mapping[str, Any]
"""A JSON schema (draft 2020-12)."""
FindProblems = Callable[[object], Iterable[Problem]]
"""Takes any value at all and yields its problems; their paths are relative to it, "" the value itself."""
DEFINITIONS = "#/$defs/"
NULL: Schema = {"type": "null"}
_NOTES = frozenset({"title", "description", "examples", "default"})


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a value, and the schema of what passes it.

    References in `schema` point below `#/$defs/`, at the names in `definitions`. A rule that no schema can
    state is in the check alone: the schema is never stricter than the check.
    """

    find_problems: FindProblems
    schema: Schema = field(default_factory=dict)
    definitions: Mapping[str, Schema] = field(default_factory=dict)

    def __call__(self, value: object) -> Iterable[Problem]:
        """Return the problems of a value."""
        return self.find_problems(value)

    def described(self, description: str, example: Any = None) -> "Check":  # noqa: ANN401  # JSON
        """Return the same check with a description, and an example, for readers of the schema."""
        examples = {} if example is None else {"examples": [example]}
        return replace(self, schema={**self.schema, "description": description, **examples})


def check_with(**schema: Any) -> Callable[[FindProblems], Check]:  # noqa: ANN401  # JSON
    """Turn a function that finds problems into a check with this schema."""
    return lambda find_problems: Check(find_problems, schema)


def unchecked(**schema: Any) -> Check:  # noqa: ANN401  # JSON
    """Return a check that every value passes: a rule of its record checks the field instead."""
    return Check(lambda _: (), schema)


def reference(name: str) -> Schema:
    """Return the schema that refers to a definition."""
    return {"$ref": DEFINITIONS + name}


def or_null(schema: Schema) -> Schema:
    """Return the schema of null or what `schema` describes."""
    if takes_null(schema):
        return schema
    notes = {key: value for key, value in schema.items() if key in _NOTES}
    value = {key: value for key, value in schema.items() if key not in _NOTES}
    return {"anyOf": [value, NULL], **notes}


def takes_null(schema: Schema) -> bool:
    """Return whether null passes a schema made by `or_null`."""
    return NULL in schema.get("anyOf", ())


def object_schema(
    name: str,
    description: str,
    properties: Mapping[str, Schema],
    required: Iterable[str] = (),
    *,
    is_open: bool = False,
) -> Schema:
    """Return the schema of an object that takes no keys but these, unless it is open."""
    needed = list(required)
    return {
        **({"title": name} if name else {}),
        "type": "object",
        **({"description": description} if description else {}),
        "properties": {key: _titled(key, schema) for key, schema in properties.items()},
        **({"required": needed} if needed else {}),
        **({} if is_open else {"additionalProperties": False}),
    }


def _titled(key: str, schema: Schema) -> Schema:
    """Add a title made of the key, unless the schema refers to a definition, which has its own."""
    refers = "$ref" in schema or any("$ref" in option for option in schema.get("anyOf", ()))
    return schema if refers else {**schema, "title": key.replace("_", " ").title()}
