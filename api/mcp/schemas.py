"""JSON schemas that stand alone: what the OpenAPI document refers to comes along."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

Schema = dict[str, Any]
COMPONENTS: Final = "#/components/schemas/"
NAME: Final = re.compile(f'"{COMPONENTS}([^"]+)"')


def resolved(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    """The schema that a reference leads to; any other schema as it is."""
    reference = schema.get("$ref")
    return schema if reference is None else components[reference.removeprefix(COMPONENTS)]


def self_contained(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    """The same schema, with every definition that it needs under `$defs`."""
    definitions: dict[str, Schema] = {}
    waiting = _names_in(schema)
    while waiting:
        name = waiting.pop()
        definitions[name] = components[name]
        waiting |= _names_in(components[name]) - definitions.keys()
    whole = {**schema, "$defs": dict(sorted(definitions.items()))} if definitions else schema
    alone: Schema = json.loads(json.dumps(whole).replace(COMPONENTS, "#/$defs/"))
    return alone


def _names_in(schema: Schema) -> set[str]:
    return set(NAME.findall(json.dumps(schema)))
