"""Which operations are tools, read from the app's own OpenAPI document: a new route is a tool by itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from fastapi import FastAPI
from mcp_types import Tool

from api.auth import Caller
from api.mcp.demands import Demand, demands_of
from api.mcp.hints import hints_of
from api.mcp.schemas import Schema, resolved, self_contained
from pipeline.store.catalog import Catalog

Place = Literal["path", "query", "header"]
SCHEME: Final = "bearer"
JSON: Final = "application/json"
IDEMPOTENCY_KEY: Final = "idempotency_key"
IDEMPOTENCY: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 255,
    "description": "Makes the call safe to repeat: the same key with the same arguments is carried out once.",
}
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
            if takes_key and (method.upper(), path) not in NEVER:
                yield method.upper(), path, described


def _operation(
    method: str,
    path: str,
    described: dict[str, Any],
    components: Mapping[str, Schema],
    demands: tuple[Demand, ...],
) -> Operation:
    parameters = [one for one in described.get("parameters", []) if one["in"] in {"path", "query"}]
    body = resolved(_content(described.get("requestBody", {})), components)
    keyed: dict[str, Place] = {} if method == "GET" else {IDEMPOTENCY_KEY: "header"}
    arguments = _arguments(parameters, body, keyed)
    return Operation(
        method=method,
        path=path,
        places={one["name"]: one["in"] for one in parameters} | keyed,
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


def _arguments(parameters: list[dict[str, Any]], body: Schema, keyed: Mapping[str, Place]) -> Schema:
    """One flat object: parameters and the members of the body side by side."""
    properties = {one["name"]: _parameter(one) for one in parameters}
    properties |= body.get("properties", {}) | dict.fromkeys(keyed, IDEMPOTENCY)
    required = [one["name"] for one in parameters if one.get("required")] + body.get("required", [])
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    if not body or body.get("additionalProperties") is False:
        schema["additionalProperties"] = False
    return schema


def _parameter(described: dict[str, Any]) -> Schema:
    about = described.get("description")
    schema: Schema = described["schema"]
    return {**schema, "description": about} if about else schema


def _output(described: dict[str, Any], components: Mapping[str, Schema]) -> Schema | None:
    """The schema of its success; None for one that answers with no JSON object."""
    answers = described["responses"]
    success = answers[min(status for status in answers if status.startswith("2"))]
    schema = resolved(_content(success), components)
    return self_contained(schema, components) if schema.get("type") == "object" else None


def _content(described: dict[str, Any]) -> Schema:
    schema: Schema = described.get("content", {}).get(JSON, {}).get("schema", {})
    return schema
