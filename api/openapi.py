"""What the OpenAPI document says beyond what the routes' signatures do: request bodies."""

from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api.schemas.api_keys import ApiKeyInput
from api.schemas.experiment_input import ExperimentInput
from api.schemas.projects import ProjectInput
from api.schemas.sdk import Conversion, ConversionBatch, TrackBatch, Visit
from api.schemas.tools import SampleSizeInput

REFERENCE: Final = "#/components/schemas/{model}"
# The engine judges bodies, so that every problem is named at once; these models only describe them.
INPUTS: Final[tuple[type[BaseModel], ...]] = (ProjectInput, ExperimentInput)
NEW_ONLY_INPUTS: Final[tuple[type[BaseModel], ...]] = (ApiKeyInput, SampleSizeInput)
SDK_INPUTS: Final[tuple[type[BaseModel], ...]] = (TrackBatch, Conversion, ConversionBatch, Visit)
SDK_KEY: Final[dict[str, Any]] = {
    "sdk_key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-SDK-Key",
        "description": "A project's public key, for browsers; `?key=` does the same.",
    }
}
# FastAPI describes errors of a shape that this API never answers with.
FOREIGN_ERROR: Final = REFERENCE.format(model="HTTPValidationError")
FOREIGN_MODELS: Final = ("HTTPValidationError", "ValidationError")
ABOUT: Final = (
    "Runs A/B tests: projects, experiments and their lifecycle, and results with a resolved decision. "
    "Judge by `score_label`, `score_value` and `effective_confidence_threshold`."
)


def taking(model: type[BaseModel], *, partly: bool = False) -> dict[str, Any]:
    """How an operation says which body it takes; `partly` means that only the fields to change are sent."""
    name = _changes(model) if partly else model.__name__
    schema = {"$ref": REFERENCE.format(model=name)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """The function that makes the document, once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    return openapi


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, description=ABOUT, routes=app.routes, openapi_version="3.1.0"
    )
    schemas: dict[str, Any] = document["components"]["schemas"]
    _remove_foreign_errors(document)
    _offer_alternatives(document)
    _describe_parameters(document)
    _, described = models_json_schema(
        [(model, "validation") for model in (*INPUTS, *NEW_ONLY_INPUTS, *SDK_INPUTS)], ref_template=REFERENCE
    )
    schemas.update(described["$defs"])
    for model in INPUTS:
        schemas[_changes(model)] = _partly(schemas[model.__name__], _changes(model))
    document["components"]["securitySchemes"] |= SDK_KEY
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    return document


def _remove_foreign_errors(document: dict[str, Any]) -> None:
    for methods in document["paths"].values():
        for operation in methods.values():
            content = operation["responses"].get("422", {}).get("content", {})
            if content.get("application/json", {}).get("schema") == {"$ref": FOREIGN_ERROR}:
                del operation["responses"]["422"]
    for model in FOREIGN_MODELS:
        document["components"]["schemas"].pop(model, None)


def _offer_alternatives(document: dict[str, Any]) -> None:
    """No operation needs two scopes: where its dependency names several, any one of them will do."""
    for methods in document["paths"].values():
        for operation in methods.values():
            alternatives = [
                {scheme: [scope]}
                for needed in operation.get("security", [])
                for scheme, scopes in needed.items()
                for scope in scopes
            ]
            if len(alternatives) > 1:
                operation["security"] = alternatives


def _describe_parameters(document: dict[str, Any]) -> None:
    """A parameter that is not given is left out: neither a query nor a header can say null."""
    operations = (one for methods in document["paths"].values() for one in methods.values())
    for schema in (parameter["schema"] for one in operations for parameter in one.get("parameters", ())):
        kinds = [kind for kind in schema.pop("anyOf", ()) if kind != {"type": "null"}]
        if kinds:
            schema.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


def _changes(model: type[BaseModel]) -> str:
    return model.__name__.replace("Input", "Changes")


def _partly(schema: dict[str, Any], title: str) -> dict[str, Any]:
    # What is absent from an update stays as it is, so no field has a default.
    properties = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in schema["properties"].items()
    }
    whole = {key: value for key, value in schema.items() if key != "required"}
    return {**whole, "title": title, "description": "The fields to change.", "properties": properties}
