"""Which operations are tools, read from the app's own OpenAPI document: a new route is a tool by itself.

JSON schemas that stand alone: what the OpenAPI document refers to comes along.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from fastapi import FastAPI
from mcp_types import Tool

from api.auth import Caller
from api.mcp.annotations import hints_of
from api.mcp.permissions import Demand, demands_of
from pipeline.store.catalog.catalog import Catalog

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


Place = Literal["path", "query", "header"]
SCHEME: Final = "bearer"
JSON: Final = "application/json"
# Its answer is a secret, which would enter a model's context and whatever keeps that.
NEVER: Final = {("POST", "/api/v1/account/api_keys")}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API, and the tool that it is."""

    method: str
    path: str
    # Each argument that is no member of the body → where it goes instead.
    places: Mapping[str, Place]
    has_body: bool
    # Having all scopes of any of these will do.
    scopes: tuple[frozenset[str], ...]
    demands: tuple[Demand, ...]
    tool: Tool

    def is_open_to(self, caller: Caller, catalog: Catalog) -> bool:
        """Whether the caller's key may call it, on one project at least."""
        has_scopes = any(scopes <= set(caller.key.scopes) for scopes in self.scopes)
        return has_scopes and all(is_met(caller, catalog) for is_met in self.demands)


def operations_of(app: FastAPI) -> dict[str, Operation]:
    """Every operation that a key can call, by its operation id."""
    document = app.openapi()
    components = document["components"]["schemas"]
    demands = demands_of(app)
    found = {}
    for method, path, described in _described(document):
        name = described["operationId"]
        found[name] = _operation(method, path, described, components, demands[name])
    return found


def _described(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            takes_key = any(SCHEME in needed for needed in described.get("security", []))
            # What is no JSON is a file, and a file is for a program: no model could hold it.
            speaks_json = _success(described).get("content", {}).keys() <= {JSON}
            if takes_key and speaks_json and (method.upper(), path) not in NEVER:
                yield method.upper(), path, described


def _operation(
    method: str,
    path: str,
    described: dict[str, Any],
    components: Mapping[str, Schema],
    demands: tuple[Demand, ...],
) -> Operation:
    parameters = {_argument(one): one for one in described.get("parameters", [])}
    body = resolved(_content(described.get("requestBody", {})), components)
    arguments = _arguments(parameters, body)
    return Operation(
        method=method,
        path=path,
        places={argument: one["in"] for argument, one in parameters.items()},
        has_body=bool(body),
        scopes=tuple(frozenset(one[SCHEME]) for one in described["security"] if SCHEME in one),
        demands=demands,
        tool=Tool(
            name=described["operationId"],
            title=described["summary"],
            description=described["description"],
            input_schema=self_contained(arguments, components),
            output_schema=_output(described, components),
            annotations=hints_of(described["operationId"], method),
        ),
    )


def _argument(parameter: dict[str, Any]) -> str:
    name: str = parameter["name"]
    return name.lower().replace("-", "_") if parameter["in"] == "header" else name


def _arguments(parameters: dict[str, dict[str, Any]], body: Schema) -> Schema:
    """One flat object: parameters and the members of the body side by side."""
    required = [argument for argument, one in parameters.items() if one.get("required")]
    schema: Schema = {
        "type": "object",
        "properties": {argument: _parameter(one) for argument, one in parameters.items()}
        | body.get("properties", {}),
        "required": required + body.get("required", []),
    }
    if not body or body.get("additionalProperties") is False:
        schema["additionalProperties"] = False
    return schema


def _parameter(described: dict[str, Any]) -> Schema:
    about = described.get("description")
    schema: Schema = described["schema"]
    return {**schema, "description": about} if about else schema


def _output(described: dict[str, Any], components: Mapping[str, Schema]) -> Schema | None:
    """The schema of its success; None for one that answers with nothing."""
    schema = resolved(_content(_success(described)), components)
    return self_contained(schema, components) if schema.get("type") == "object" else None


def _success(described: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, dict[str, Any]] = described["responses"]
    return answers[min(status for status in answers if status.startswith("2"))]


def _content(described: dict[str, Any]) -> Schema:
    schema: Schema = described.get("content", {}).get(JSON, {}).get("schema", {})
    return schema
