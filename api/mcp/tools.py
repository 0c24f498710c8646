"""Tools: one for each operation that takes an API key, read from the app's OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from fastapi import FastAPI
from mcp_types import Tool

from api.auth import Caller
from api.mcp.annotations import annotations_of
from api.mcp.permissions import Permission, permissions_of
from pipeline.store.catalog.catalog import Catalog

Schema = dict[str, Any]
Location = Literal["path", "query", "header"]
COMPONENTS: Final = "#/components/schemas/"
COMPONENT: Final = re.compile(f'"{COMPONENTS}([^"]+)"')
SCHEME: Final = "bearer"
JSON: Final = "application/json"
# Its answer is a secret, which would enter a model's context and every log of it.
NO_TOOL: Final = {("POST", "/api/v1/account/api_keys")}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API and its tool."""

    method: str
    path: str
    # Each argument outside the body → its location.
    locations: Mapping[str, Location]
    has_body: bool
    # Alternatives: a key needs all scopes of one of them.
    scopes: tuple[frozenset[str], ...]
    permissions: tuple[Permission, ...]
    tool: Tool

    def is_open_to(self, caller: Caller, catalog: Catalog) -> bool:
        """Return whether the caller's key may call the operation, on at least one project."""
        has_scopes = any(scopes <= set(caller.key.scopes) for scopes in self.scopes)
        return has_scopes and all(is_met(caller, catalog) for is_met in self.permissions)


def operations_of(app: FastAPI) -> dict[str, Operation]:
    """Return every operation that a key can call, by operation id."""
    document = app.openapi()
    components = document["components"]["schemas"]
    permissions = permissions_of(app)
    return {
        name: _operation(method, path, described, components, permissions[name])
        for method, path, described in _described(document)
        for name in (described["operationId"],)
    }


def _described(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            takes_key = any(SCHEME in needed for needed in described.get("security", []))
            # A file is too large for a model's context.
            answers_json = _success(described).get("content", {}).keys() <= {JSON}
            if takes_key and answers_json and (method.upper(), path) not in NO_TOOL:
                yield method.upper(), path, described


def _operation(
    method: str,
    path: str,
    described: dict[str, Any],
    components: Mapping[str, Schema],
    permissions: tuple[Permission, ...],
) -> Operation:
    parameters = {_argument(parameter): parameter for parameter in described.get("parameters", [])}
    body = resolved(_content(described.get("requestBody", {})), components)
    arguments = _arguments(parameters, body)
    return Operation(
        method=method,
        path=path,
        locations={argument: parameter["in"] for argument, parameter in parameters.items()},
        has_body=bool(body),
        scopes=tuple(frozenset(needed[SCHEME]) for needed in described["security"] if SCHEME in needed),
        permissions=permissions,
        tool=Tool(
            name=described["operationId"],
            title=described["summary"],
            description=described["description"],
            input_schema=self_contained(arguments, components),
            output_schema=_output(described, components),
            annotations=annotations_of(described["operationId"], method),
        ),
    )


def _argument(parameter: dict[str, Any]) -> str:
    name: str = parameter["name"]
    return name.lower().replace("-", "_") if parameter["in"] == "header" else name


def _arguments(parameters: dict[str, dict[str, Any]], body: Schema) -> Schema:
    """Describe one flat object: the parameters and the members of the body side by side."""
    required = [argument for argument, parameter in parameters.items() if parameter.get("required")]
    schema: Schema = {
        "type": "object",
        "properties": {argument: _property(parameter) for argument, parameter in parameters.items()}
        | body.get("properties", {}),
        "required": required + body.get("required", []),
    }
    if not body or body.get("additionalProperties") is False:
        schema["additionalProperties"] = False
    return schema


def _property(parameter: dict[str, Any]) -> Schema:
    description = parameter.get("description")
    schema: Schema = parameter["schema"]
    return {**schema, "description": description} if description else schema


def _output(described: dict[str, Any], components: Mapping[str, Schema]) -> Schema | None:
    """Return the schema of the successful answer; None for an empty one."""
    schema = resolved(_content(_success(described)), components)
    return self_contained(schema, components) if schema.get("type") == "object" else None


def _success(described: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, dict[str, Any]] = described["responses"]
    return answers[min(status for status in answers if status.startswith("2"))]


def _content(described: dict[str, Any]) -> Schema:
    schema: Schema = described.get("content", {}).get(JSON, {}).get("schema", {})
    return schema


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


def _component_names(schema: Schema) -> set[str]:
    return set(COMPONENT.findall(json.dumps(schema)))
