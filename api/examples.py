"""Examples in the OpenAPI document: of every field, and of answers, put together of those of their fields."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from api.glossary import MEANINGS
from api.schemas.inputs import REFERENCE
from engine.validation.check import NULL, Schema

JSON: Final = "application/json"
# What is natural for a type: a field says more only where a reader learns something by it.
_OF_FORMAT: Final[Mapping[str, Any]] = {"date-time": "2026-03-02T09:30:00Z", "date": "2026-03-02"}
_KEYED_BY: Final = re.compile(r"By (variant|goal) id\.")
# The description of an error has its codes, of which each has an entry in the documentation.
_FIRST_CODE: Final = re.compile(r"`(\w+)`")
_MESSAGE: Final = "a sentence for people, with the value that is wrong and what to do"
_CONTAINERS: Final = ("properties", "additionalProperties", "items")


class MissingExampleError(Exception):
    """A schema without an example, whose type gives none."""


def add_examples(document: dict[str, Any]) -> None:
    """Give every field of a plain type an example, and every body and answer in JSON one of its own."""
    components: dict[str, dict[str, Any]] = document["components"]["schemas"]
    for component in components.values():
        for schema in component.get("properties", {}).values():
            if "examples" not in schema and not _refers(schema):
                with suppress(MissingExampleError):
                    schema["examples"] = [example_of(schema, components)]
    for content in _bodies(document):
        content["example"] = example_of(content["schema"], components)
    for answer in _answers(document):
        content = answer["content"][JSON]
        content["example"] = example_of(content["schema"], components)
        if code := _FIRST_CODE.match(answer["description"]):
            error = {**content["example"]["error"], "code": code[1], "message": _MESSAGE}
            content["example"] = {"error": error}


def example_of(schema: Schema, components: Mapping[str, Schema]) -> Any:  # noqa: ANN401  # JSON
    """Return an example of what a schema describes, or raise MissingExampleError."""
    if "examples" in schema:
        return schema["examples"][0]
    if reference := schema.get("$ref"):
        name = reference.removeprefix(REFERENCE)
        if name not in components:
            raise MissingExampleError
        # A component within itself, such as a group of groups, has no example there.
        return example_of(components[name], {key: components[key] for key in components if key != name})
    if options := [option for option in schema.get("anyOf", ()) if option != NULL]:
        return example_of(options[0], components)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if schema.get("format") in _OF_FORMAT:
        return _OF_FORMAT[schema["format"]]
    return _of_type(schema, components)


def _of_type(schema: Schema, components: Mapping[str, Schema]) -> Any:  # noqa: ANN401  # JSON
    if schema.get("default") not in (None, "", [], {}):
        return schema["default"]
    if "properties" in schema:
        return dict(_of_fields(schema["properties"], components))
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        return {_key(schema): example_of(values, components)}
    if schema.get("type") == "array" and "items" in schema:
        return [example_of(schema["items"], components)]
    if schema.get("type") == "boolean":
        return True
    raise MissingExampleError


def _key(schema: Schema) -> str:
    """Return the key of an object's values, of which the description says whose id it is."""
    owner = _KEYED_BY.match(schema.get("description", ""))
    return MEANINGS[f"{owner[1]}_id"].example if owner else "name"


def _of_fields(fields: Mapping[str, Schema], components: Mapping[str, Schema]) -> Iterator[tuple[str, Any]]:
    """List the fields that have an example; one without is a fault of the document, and not of its reader."""
    for name, field in fields.items():
        with suppress(MissingExampleError):
            yield name, example_of(field, components)


def _refers(schema: Schema) -> bool:
    """Tell whether a schema refers to a component, which has examples of its own."""
    nested = [schema[key] for key in _CONTAINERS if isinstance(schema.get(key), Mapping)]
    return "$ref" in schema or any(map(_refers, (*nested, *schema.get("anyOf", ()))))


def _bodies(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """List what bodies in JSON are described by."""
    for methods in document["paths"].values():
        for operation in methods.values():
            if JSON in (content := operation.get("requestBody", {}).get("content", {})):
                yield content[JSON]


def _answers(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """List the answers in JSON."""
    for methods in document["paths"].values():
        for operation in methods.values():
            yield from (one for one in operation["responses"].values() if JSON in one.get("content", {}))
