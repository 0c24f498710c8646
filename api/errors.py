"""How each error is answered: one table of codes, one envelope.

The envelope of every answer that is not a success.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from engine.errors import InvalidDesignError, Problem, TransitionError
from pipeline.events.body import InvalidBodyError, MalformedBodyError, TooManyEventsError
from pipeline.ingest import IngestError
from pipeline.results.filters import InvalidFilterError
from pipeline.store.catalog.errors import (
    CatalogBusyError,
    InvalidRecordError,
    KeyInUseError,
    KeyReusedError,
    NotFoundError,
    PlanLimitError,
)


class ErrorDetail(BaseModel):
    """One thing wrong with one value."""

    field: str = Field(description="Path of the value, such as `variants[1].weight`.")
    message: str


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="Stable value to branch on.")
    message: str = Field(description="A sentence for people.")
    details: list[ErrorDetail] = Field(default=[], description="Each problem, where values are wrong.")
    request_id: str = Field(description="Quote it when reporting a problem; equals the X-Request-Id header.")


class ErrorEnvelope(BaseModel):
    """The envelope of every error."""

    error: ErrorBody


STATUS_OF: Final[Mapping[str, int]] = {
    "invalid_json": 400,
    "invalid_api_key": 401,
    "account_inactive": 402,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "idempotency_key_in_use": 409,
    "idempotency_key_reused": 409,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "validation_error": 422,
    "plan_limit_reached": 422,
    "invalid_transition": 422,
    "start_requirements_not_met": 422,
    "experiment_running": 422,
    "experiment_locked": 422,
    "field_locked": 422,
    "not_draft": 422,
    "rate_limited": 429,
    "internal_error": 500,
    "unavailable": 503,
}
# Errors of the floors below; a TransitionError brings its own code.
CODE_OF: Final[Mapping[type[Exception], str]] = {
    InvalidDesignError: "validation_error",
    InvalidRecordError: "validation_error",
    InvalidFilterError: "validation_error",
    NotFoundError: "not_found",
    PlanLimitError: "plan_limit_reached",
    KeyReusedError: "idempotency_key_reused",
    KeyInUseError: "idempotency_key_in_use",
    CatalogBusyError: "unavailable",
    IngestError: "unavailable",
    MalformedBodyError: "invalid_json",
    TooManyEventsError: "payload_too_large",
    InvalidBodyError: "validation_error",
}
# What the framework refuses before any code of ours runs.
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
CODE_OF_STATUS: Final[Mapping[int, str]] = {404: "not_found", 405: "method_not_allowed"}
# What an operation with a key, and one with a body, may be refused for.
KEY_CODES: Final = ("invalid_api_key", "account_inactive", "forbidden", "rate_limited")
BODY_CODES: Final = ("invalid_json", "payload_too_large", "unsupported_media_type", "validation_error")
INVALID: Final = "the request is not valid; `details` names every problem"
RETRY_AFTER_SECONDS: Final = 1


class ApiError(Exception):
    """A request refused; the code decides the status."""

    def __init__(
        self,
        code: str,
        message: str,
        problems: Iterable[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Take a code of STATUS_OF, a sentence for people, and headers that the answer carries."""
        self.code = code
        self.message = message
        self.problems = tuple(problems)
        self.headers = dict(headers or {})
        super().__init__(message)


# What an operation refuses on purpose.
ANSWERED: Final[tuple[type[Exception], ...]] = (ApiError, TransitionError, *CODE_OF)


def install(app: FastAPI) -> None:
    """Have every error that is raised on purpose answered in the envelope."""
    for kind in (*ANSWERED, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer)


def error_response(error: ApiError, request_id: str) -> JSONResponse:
    """The envelope of one error, as an answer."""
    content: dict[str, Any] = {"code": error.code, "message": error.message, "request_id": request_id}
    if error.problems:
        content["details"] = [
            # A problem of the whole has no path of its own.
            {"field": problem.field or "body", "message": problem.message}
            for problem in error.problems
        ]
    return JSONResponse({"error": content}, status_code=STATUS_OF[error.code], headers=error.headers)


def documented(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The error answers of an operation, for its description."""
    answers: dict[int | str, dict[str, Any]] = {}
    for code in codes:
        answer = answers.setdefault(STATUS_OF[code], {"model": ErrorEnvelope, "description": ""})
        answer["description"] = ", ".join(filter(None, (answer["description"], f"`{code}`")))
    return answers


def merged(*described: Mapping[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    """Descriptions of answers as one: each code of a status is named once."""
    answers: dict[int | str, dict[str, Any]] = {}
    for status, answer in (pair for part in described for pair in part.items()):
        before = answers.get(status, {})
        texts = (before.get("description", ""), answer.get("description", ""))
        codes = dict.fromkeys(code for text in texts for code in text.split(", ") if code)
        answers[status] = {**before, **answer, "description": ", ".join(codes)}
    return answers


def answer_to(request: Request, error: Exception) -> JSONResponse:
    """The answer to a request that an error of ANSWERED, or of the framework, refuses."""
    return error_response(_refusal(request, error), request.state.request_id)


async def _answer(request: Request, error: Exception) -> JSONResponse:
    return answer_to(request, error)


def _refusal(request: Request, error: Exception) -> ApiError:
    if isinstance(error, ApiError):
        return error
    if isinstance(error, TransitionError):
        return ApiError(error.code, error.message, error.problems)
    if isinstance(error, RequestValidationError):
        return ApiError("validation_error", INVALID, map(_problem_of_query, error.errors()))
    if isinstance(error, HTTPException):
        code = CODE_OF_STATUS[error.status_code]
        headers = {"Allow": _methods_of(request)} if error.status_code == 405 else error.headers
        return ApiError(code, f"{request.method} {request.url.path}: {error.detail}", headers=headers)
    return _refusal_below(error)


def _methods_of(request: Request) -> str:
    """What the path can be asked for; the framework would name the methods of its first route only."""
    asked = {"type": "http", "path": request.scope["path"], "root_path": "", "headers": []}
    routes = request.app.routes
    return ", ".join(
        method
        for method in METHODS
        if any(route.matches({**asked, "method": method})[0] is Match.FULL for route in routes)
    )


def _refusal_below(error: Exception) -> ApiError:
    code = next(code for kind, code in CODE_OF.items() if isinstance(error, kind))
    if code == "validation_error":
        return ApiError(code, INVALID, getattr(error, "problems", ()))
    if code == "unavailable":
        seconds = getattr(error, "retry_after", RETRY_AFTER_SECONDS)
        return ApiError(code, str(error), headers={"Retry-After": str(seconds)})
    return ApiError(code, str(error))


def _problem_of_query(found: Mapping[str, Any]) -> Problem:
    # The first step of the path says where a value came from, such as "query".
    return Problem(".".join(map(str, found["loc"][1:])), found["msg"])
