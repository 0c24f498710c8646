"""Tools: one for each operation that takes an API key, read from the app's OpenAPI document."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from fastapi import FastAPI
from mcp_types import Tool

from api.auth import Caller
from api.mcp.annotations import annotations_of
from api.mcp.guidance import WHEN
from api.mcp.permissions import Permission, permissions_of
from api.mcp.tool_schemas import Schema, bare, resolved, self_contained, trimmed
from api.preconditions import IF_MATCH
from pipeline.store.catalog.catalog import Catalog

Location = Literal["path", "query", "header"]
SCHEME: Final = "bearer"
# An assistant sees no ETag: the answer of a tool has no headers.
NO_ARGUMENTS: Final = frozenset({IF_MATCH})
ID: Final = "id"
JSON: Final = "application/json"
_SUMS: Final = "/api/v1/projects/{project_id}/experiments/{id}/sums"
_ACCOUNT_LINKS: Final = "/api/v1/account/share_links"
NO_TOOL: Final = {
    # Its answer is a secret, which would enter a model's context and every log of it.
    ("POST", "/api/v1/account/api_keys"),
    # The programs that count hand in files, and ask what they are to count by.
    ("GET", _SUMS),
    ("POST", _SUMS),
    # An assistant works on an experiment: the links of an account are its administrators' business.
    ("GET", _ACCOUNT_LINKS),
    ("DELETE", _ACCOUNT_LINKS),
}
# They have secrets, too, and are the business of who runs the receiving server.
NO_TOOLS_TAG: Final = "Webhooks"
# The end of a path whose last id is only called `id`: the segment before says whose it is.
OWN_ID: Final = re.compile(r"/([a-z_]+?)s/\{id\}")
# Operations that are part of another tool, as the list has little room → that tool, and the argument that
# asks for them.
JOINED: Final[Mapping[str, tuple[str, str]]] = {
    "ship_experiment": ("complete_experiment", "decision"),
    "copy_experiment": ("create_experiment", "experiment_id"),
    "list_project_verdicts": ("list_experiments", "since"),
    "list_account_verdicts": ("list_projects", "since"),
    "create_share_link": ("update_experiment", "share"),
    "list_share_links": ("get_experiment", "share_links"),
    "revoke_share_link": ("update_experiment", "link_id"),
    "get_group": ("list_experiments", "group_id"),
    "list_groups": ("list_experiments", "groups"),
    "update_group": ("create_experiment", "rename_group"),
    "create_group": ("create_experiment", "create_group"),
    "request_review": ("start_experiment", "review"),
    "approve_experiment": ("start_experiment", "approve"),
    "withdraw_review": ("start_experiment", "withdraw"),
    "delete_group": ("delete_experiment", "delete_group"),
    "end_experiment_rollout": ("complete_experiment", "end_rollout"),
    "list_holdouts": ("list_experiments", "holdouts"),
    "create_holdout": ("create_experiment", "percent"),
    "get_holdout": ("get_experiment", "holdout_id"),
    "update_holdout": ("update_experiment", "holdout_id"),
    "delete_holdout": ("delete_experiment", "holdout_id"),
    "get_holdout_results": ("get_results", "holdout_id"),
}
# Operations whose filters are described once, by another one.
FILTERED: Final = ("get_results_summary", "get_results_timeseries")
FILTERS: Final = "get_results"
CHANGES: Final = "Takes the fields of {created}, described there; others stay as they are."


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API and its tool."""

    method: str
    path: str
    # Each argument outside the body → its location, and its name there.
    locations: Mapping[str, tuple[Location, str]]
    has_body: bool
    # Alternatives: a key needs all scopes of one of them.
    scopes: tuple[frozenset[str], ...]
    permissions: tuple[Permission, ...]
    tool: Tool
    # By the argument that asks for it.
    joined: Mapping[str, "Operation"] = field(default_factory=dict)

    def asked_by(self, arguments: Mapping[str, Any]) -> tuple["Operation", Mapping[str, Any]]:
        """Return the operation that a call asks for, this one or one joined to it, with its arguments."""
        for name, other in self.joined.items():
            if arguments.get(name):
                is_own = name in other.tool.input_schema["properties"]
                return other, {key: value for key, value in arguments.items() if key != name or is_own}
        return self, {key: value for key, value in arguments.items() if key not in self.joined}

    @property
    def own_id(self) -> str | None:
        """The argument whose short form is `id`; None without one."""
        return next((one for one, place in self.locations.items() if place == ("path", ID)), None)

    def place_of(self, argument: str) -> tuple[Location | Literal["body"], str]:
        """Return where an argument belongs, and its name there."""
        name = self.own_id if argument == ID and self.own_id else argument
        return self.locations.get(name, ("body", argument))

    def is_open_to(self, caller: Caller, catalog: Catalog) -> bool:
        """Return whether the caller's key may call the operation, on at least one project."""
        has_scopes = any(scopes <= set(caller.key.scopes) for scopes in self.scopes)
        return has_scopes and all(is_met(caller, catalog) for is_met in self.permissions)


def operations_of(app: FastAPI) -> dict[str, Operation]:
    """Return every operation that a key can call, by operation id; those of JOINED are in their tools."""
    document = app.openapi()
    components = document["components"]["schemas"]
    permissions = permissions_of(app)
    found = {
        name: _operation(method, path, described, components, permissions[name])
        for method, path, described in _described(document)
        for name in (described["operationId"],)
    }
    for name in FILTERED:
        found[name] = _described_by(found[name], found[FILTERS].tool)
    for name, (tool, argument) in JOINED.items():
        found[tool] = _joined(found[tool], argument, found.pop(name))
    return found


def _described_by(operation: Operation, other: Tool) -> Operation:
    """Leave the description of arguments to the tool that has the same ones."""
    schema, described = operation.tool.input_schema, other.input_schema["properties"]
    properties = {
        name: bare(member) if name in described else member for name, member in schema["properties"].items()
    }
    update = {
        "description": f"{operation.tool.description} Takes the filters of {other.name}, described there.",
        "input_schema": {**schema, "properties": properties},
    }
    return replace(operation, tool=operation.tool.model_copy(update=update))


def _joined(operation: Operation, argument: str, other: Operation) -> Operation:
    """Join another operation, whose arguments the tool then takes, too; none of them is required.

    Nor are ids that only the tool's own operation takes.
    """
    schema = operation.tool.input_schema
    ids = {name for name, (location, _) in operation.locations.items() if location == "path"}
    required = [one for one in schema["required"] if one not in ids - other.locations.keys()]
    asking = {argument: {"type": "boolean"}} | other.tool.input_schema["properties"]
    # What both take is described as the tool does: without the argument nothing else is asked.
    properties = {**asking, **schema["properties"]}
    tool = operation.tool.model_copy(
        update={
            "description": f"{operation.tool.description} With `{argument}`: {other.tool.description}",
            "input_schema": {**schema, "properties": properties, "required": required},
        }
    )
    return replace(operation, tool=tool, joined={**operation.joined, argument: other})


def _described(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            takes_key = any(SCHEME in needed for needed in described.get("security", []))
            # A file is too large for a model's context.
            answers_json = _success(described).get("content", {}).keys() <= {JSON}
            is_left_out = (method.upper(), path) in NO_TOOL or NO_TOOLS_TAG in described["tags"]
            if takes_key and answers_json and not is_left_out:
                yield method.upper(), path, described


def _operation(
    method: str,
    path: str,
    described: dict[str, Any],
    components: Mapping[str, Schema],
    permissions: tuple[Permission, ...],
) -> Operation:
    parameters = {
        _argument(parameter, path): parameter
        for parameter in described.get("parameters", [])
        if parameter["name"] not in NO_ARGUMENTS and not _is_refused(parameter)
    }
    body = resolved(_content(described.get("requestBody", {})), components)
    name: str = described["operationId"]
    is_change = method == "PATCH"
    arguments = _arguments(parameters, _bare_members(body) if is_change else body)
    sentences = [described["description"], *([WHEN[name]] if name in WHEN else [])]
    if is_change:
        sentences.append(CHANGES.format(created=name.replace("update_", "create_")))
    return Operation(
        method=method,
        path=path,
        locations={
            argument: (parameter["in"], parameter["name"]) for argument, parameter in parameters.items()
        },
        has_body=bool(body),
        scopes=tuple(frozenset(needed[SCHEME]) for needed in described["security"] if SCHEME in needed),
        permissions=permissions,
        tool=Tool(
            name=name,
            description=" ".join(sentences),
            input_schema=trimmed(self_contained(arguments, components)),
            annotations=annotations_of(name, method),
        ),
    )


def _is_refused(parameter: dict[str, Any]) -> bool:
    """Tell whether every value is refused, with a reason: a parameter that others of its kind take."""
    return str(parameter.get("description", "")).startswith("Refused:")


def _argument(parameter: dict[str, Any], path: str) -> str:
    """Name the argument of a parameter: `experiment_id` in every tool of an experiment, and not `id`."""
    name: str = parameter["name"]
    if parameter["in"] == "header":
        return name.lower().replace("-", "_")
    whose = OWN_ID.search(path) if parameter["in"] == "path" and name == ID else None
    return f"{whose[1]}_id" if whose else name


def _bare_members(body: Schema) -> Schema:
    return {**body, "properties": {name: bare(member) for name, member in body["properties"].items()}}


def _arguments(parameters: dict[str, dict[str, Any]], body: Schema) -> Schema:
    """Describe one flat object: the parameters and the members of the body side by side."""
    required = [argument for argument, parameter in parameters.items() if parameter.get("required")]
    # That no others are taken is left out, as of nested members: a call with one is told so.
    return {
        "type": "object",
        "properties": {argument: _property(parameter) for argument, parameter in parameters.items()}
        | body.get("properties", {}),
        "required": required + body.get("required", []),
    }


def _property(parameter: dict[str, Any]) -> Schema:
    schema: Schema = parameter["schema"]
    if parameter["name"] == "Idempotency-Key":
        # The server's instructions say it once for all tools.
        return schema
    description = parameter.get("description")
    return {**schema, "description": description} if description else schema


def _success(described: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, dict[str, Any]] = described["responses"]
    return answers[min(status for status in answers if status.startswith("2"))]


def _content(described: dict[str, Any]) -> Schema:
    schema: Schema = described.get("content", {}).get(JSON, {}).get("schema", {})
    return schema
