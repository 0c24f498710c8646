"""OpenAPI document: request bodies and errors, in addition to what FastAPI derives from the routes."""

from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from functools import cache
from threading import Lock
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from api.examples import add_examples
from api.glossary import explain_fields
from api.schemas.account import MemberChanges, MemberInput
from api.schemas.api_keys import ApiKeyInput
from api.schemas.inputs import (
    CHANNEL_INPUT,
    CONVERSION_BATCH,
    COPY_INPUT,
    EXPERIMENT_INPUT,
    GROUP_INPUT,
    HOLDOUT_CHANGES,
    HOLDOUT_INPUT,
    IMPORT_INPUT,
    METRIC_INPUT,
    PROJECT_INPUT,
    REFERENCE,
    REVIEW_ANSWER,
    REVIEW_INPUT,
    RUN_INPUT,
    SAMPLE_SIZE_INPUT,
    SDK_KEY_ROTATION,
    SECRET_ROTATION,
    SHARE_INPUT,
    SHIP_INPUT,
    TRACK_BATCH,
    VISIT,
    WEBHOOK_INPUT,
    Body,
)
from engine.validation.check import NULL, Schema, or_null

BODIES: Final = (
    PROJECT_INPUT,
    PROJECT_INPUT.as_changes,
    EXPERIMENT_INPUT,
    EXPERIMENT_INPUT.as_changes,
    REVIEW_INPUT,
    REVIEW_ANSWER,
    SHIP_INPUT,
    SHARE_INPUT,
    COPY_INPUT,
    METRIC_INPUT,
    METRIC_INPUT.as_changes,
    GROUP_INPUT,
    GROUP_INPUT.as_changes,
    HOLDOUT_INPUT,
    HOLDOUT_CHANGES,
    RUN_INPUT,
    IMPORT_INPUT,
    SAMPLE_SIZE_INPUT,
    SDK_KEY_ROTATION,
    WEBHOOK_INPUT,
    WEBHOOK_INPUT.as_changes,
    CHANNEL_INPUT,
    CHANNEL_INPUT.as_changes,
    SECRET_ROTATION,
    TRACK_BATCH,
    CONVERSION_BATCH,
    VISIT,
)
# Bodies of few fields that no record reads.
MODELS: Final[tuple[type[BaseModel], ...]] = (ApiKeyInput, MemberInput, MemberChanges)
SDK_KEY: Final[dict[str, Any]] = {
    "sdk_key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-SDK-Key",
        "description": "Public key of a project, for browsers; also taken as `?key=`.",
    }
}
ABBREVIATIONS: Final = {"api": "API", "sdk": "SDK"}
# FastAPI describes errors in a shape that this API never returns.
FOREIGN_ERROR: Final = REFERENCE + "HTTPValidationError"
FOREIGN_MODELS: Final = ("HTTPValidationError", "ValidationError")
_MAKING: Final = Lock()
ABOUT: Final = (
    "A/B tests: projects, experiments and their lifecycle, and results with a recommendation. "
    "Compare `score_value` with `effective_confidence_threshold`; `score_label` names the score."
)


def taking(body: Body | type[BaseModel], *, is_required: bool = True) -> dict[str, Any]:
    """Return what an operation adds to its description for the body that it takes."""
    name = body.name if isinstance(body, Body) else body.__name__
    content = {"schema": {"$ref": REFERENCE + name}}
    return {"requestBody": {"required": is_required, "content": {"application/json": content}}}


def document_of(app: FastAPI) -> dict[str, Any]:
    """Return the document of an app, which is made once: of two threads that make it, one may fail."""
    with _MAKING:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema


def described_by(app: FastAPI) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of the document, which is made and encoded once, off the event loop."""
    encoded = cache(lambda: msgspec.json.encode(app.openapi()))

    async def answer_openapi(_: Request) -> Response:
        return Response(await run_in_threadpool(encoded), media_type="application/json")

    return answer_openapi


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=ABOUT,
        routes=app.state.operations(),
        openapi_version="3.1.0",
    )
    schemas: dict[str, Any] = document["components"]["schemas"]
    _remove_foreign_errors(document)
    _offer_alternatives(document)
    _describe_parameters(document)
    schemas |= _body_components(schemas)
    document["components"]["securitySchemes"] |= SDK_KEY
    # Bodies are described by what checks them, which stays as it is.
    document["components"]["schemas"] = deepcopy(dict(sorted(schemas.items())))
    explain_fields(document)
    add_examples(document)
    _summarize(document)
    return document


def _summarize(document: dict[str, Any]) -> None:
    """Write the summary of each operation as words: `List API keys`."""
    for methods in document["paths"].values():
        for operation in methods.values():
            first, *others = operation["operationId"].split("_")
            words = (ABBREVIATIONS.get(word, word) for word in others)
            operation["summary"] = " ".join([first.capitalize(), *words])


def _body_components(answers: Mapping[str, Schema]) -> dict[str, Schema]:
    models = {model.__name__: _model_component(model) for model in MODELS}
    generated = {name: schema for body in BODIES for name, schema in body.components.items()}
    for name in generated.keys() & answers.keys():
        # Answers may gain fields, so a component of both bodies and answers stays open to more.
        open_schema = {**generated[name]}
        del open_schema["additionalProperties"]
        generated[name] = open_schema
    return {**models, **generated}


def _model_component(model: type[BaseModel]) -> Schema:
    """Describe a body: null is taken where a field may be left out, and does the same."""
    component = model.model_json_schema(ref_template=REFERENCE + "{model}")
    required = component.get("required", ())
    fields = component["properties"].items()
    component["properties"] = {name: field if name in required else or_null(field) for name, field in fields}
    return component


def _remove_foreign_errors(document: dict[str, Any]) -> None:
    for methods in document["paths"].values():
        for operation in methods.values():
            content = operation["responses"].get("422", {}).get("content", {})
            if content.get("application/json", {}).get("schema") == {"$ref": FOREIGN_ERROR}:
                del operation["responses"]["422"]
    for model in FOREIGN_MODELS:
        document["components"]["schemas"].pop(model, None)


def _offer_alternatives(document: dict[str, Any]) -> None:
    """Offer each scope of an operation as an alternative: none needs two."""
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
    """Remove null from the parameters' types: an optional parameter is left out of a query or header."""
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    parameters = [parameter for operation in operations for parameter in operation.get("parameters", ())]
    for schema in (parameter["schema"] for parameter in parameters):
        kinds = [kind for kind in schema.pop("anyOf", ()) if kind != NULL]
        if kinds:
            schema.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
