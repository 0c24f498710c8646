"""Schemas of tools: self-contained, and no longer than an assistant needs to call them right."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from api.glossary import TEXTS

Schema = dict[str, Any]
COMPONENTS: Final = "#/components/schemas/"
COMPONENT: Final = re.compile(f'"{COMPONENTS}([^"]+)"')
# What the service checks anyway, and says in its errors.
_LEFT_OUT: Final = frozenset(
    {
        *("title", "minLength", "maxLength", "pattern", "format", "examples", "maxItems", "uniqueItems"),
        *("minimum", "maximum"),
    }
)
# Members whose keys are names of the user's, and not words of a schema.
_NAMED: Final = frozenset({"properties", "$defs"})
_FIRST_SENTENCE: Final = re.compile(r".*?(?:\.(?=\s|$)|$)", re.DOTALL)


def resolved(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    """Return the component that a reference names; any other schema unchanged."""
    reference = schema.get("$ref")
    return schema if reference is None else components[reference.removeprefix(COMPONENTS)]


def self_contained(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    """Return the schema with every component that it refers to under `$defs`."""
    definitions: dict[str, Schema] = {}
    pending = _component_names(schema)
    while pending:
        name = pending.pop()
        definitions[name] = components[name]
        pending |= _component_names(components[name]) - definitions.keys()
    whole = {**schema, "$defs": dict(sorted(definitions.items()))} if definitions else schema
    contained: Schema = json.loads(json.dumps(whole).replace(COMPONENTS, "#/$defs/"))
    return contained


def trimmed(schema: Schema, *, is_nested: bool = False) -> Schema:
    """Return the schema of arguments without titles, lengths and patterns, and null as one of the types.

    Of the descriptions of nested members the first sentence is kept; whether they are closed is left out.
    """
    kept: Schema = {}
    for key, value in _with_null_as_type(schema).items():
        if key in _NAMED:
            nested = is_nested or key == "$defs"
            kept[key] = {name: trimmed(each, is_nested=nested) for name, each in value.items()}
        elif key == "description" and value in TEXTS:
            # It says what the name says, and the list of tools has little room.
            continue
        elif key == "description" and is_nested:
            kept[key] = _FIRST_SENTENCE.match(value)[0]  # type: ignore[index]  # of any text
        elif key == "additionalProperties" and is_nested and value is False:
            # As _LEFT_OUT.
            continue
        elif key == "default" and (value is False or value in (None, [], {}) or _is_of_members(schema)):
            # What a reader expects.
            continue
        elif key not in _LEFT_OUT:
            kept[key] = _trimmed_value(value, is_nested=is_nested)
    return kept


def bare(schema: Schema) -> Schema:
    """Return the schema of one argument with its type and choices only."""
    return {key: value for key, value in trimmed(schema).items() if key in {"type", "enum"}}


def _is_of_members(schema: Schema) -> bool:
    """Tell whether a default is that of a component with settings alone, which have defaults of their own."""
    default = schema["default"]
    is_flat = isinstance(default, Mapping) and not any(isinstance(one, Mapping) for one in default.values())
    return "$ref" in schema and is_flat


def _trimmed_value(value: Any, *, is_nested: bool) -> Any:  # noqa: ANN401  # JSON
    if isinstance(value, dict):
        return trimmed(value, is_nested=is_nested)
    return [_trimmed_value(each, is_nested=is_nested) for each in value] if isinstance(value, list) else value


def _with_null_as_type(schema: Schema) -> Schema:
    """Write `anyOf` of one plain schema and null as that schema with two types."""
    options = schema.get("anyOf", [])
    plain = [option for option in options if option != {"type": "null"}]
    if len(options) != 2 or len(plain) != 1 or not isinstance(plain[0].get("type"), str):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    nullable = {**plain[0], "type": [plain[0]["type"], "null"]}
    if "enum" in nullable:
        nullable["enum"] = [*nullable["enum"], None]
    return {**nullable, **rest}


def _component_names(schema: Schema) -> set[str]:
    return set(COMPONENT.findall(json.dumps(schema)))
