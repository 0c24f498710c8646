"""Error answers: one table of codes, one envelope and its schema."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount

from engine.errors import InvalidDesignError, Problem, TransitionError
from pipeline.disk_space import DiskFullError
from pipeline.events.batch_split import TooManyEventsError, TooMuchAroundError
from pipeline.events.body import InvalidBodyError, MalformedBodyError
from pipeline.ingest.errors import IngestError
from pipeline.results.filters import InvalidFilterError
from pipeline.runs.uploads import UploadsFullError, UploadTooLargeError
from pipeline.store.catalog.errors import (
    CatalogBusyError,
    GroupInUseError,
    InvalidRecordError,
    KeyInUseError,
    KeyReusedError,
    LastOwnerError,
    MetricInUseError,
    NotFoundError,
    PlanLimitError,
    QueueFullError,
    RoleTooLowError,
    SharingForbiddenError,
    TooManyTestsError,
)
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """The HTTP status of an error code, and the errors of the engine and the pipeline that get it."""

    status: int
    errors: tuple[type[Exception], ...] = ()


# A TransitionError brings its own code.
ERROR_CODES: Final[Mapping[str, ErrorCode]] = {
    "invalid_json": ErrorCode(400, (MalformedBodyError,)),
    "invalid_request": ErrorCode(400),
    "invalid_api_key": ErrorCode(401),
    "account_inactive": ErrorCode(402),
    "forbidden": ErrorCode(403, (RoleTooLowError,)),
    "not_found": ErrorCode(404, (NotFoundError,)),
    "method_not_allowed": ErrorCode(405),
    "idempotency_key_in_use": ErrorCode(409, (KeyInUseError,)),
    "idempotency_key_reused": ErrorCode(409, (KeyReusedError,)),
    "precondition_failed": ErrorCode(412),
    "payload_too_large": ErrorCode(413, (TooManyEventsError, TooMuchAroundError, UploadTooLargeError)),
    "unsupported_media_type": ErrorCode(415),
    "validation_error": ErrorCode(
        422, (InvalidDesignError, InvalidRecordError, InvalidFilterError, InvalidBodyError)
    ),
    "plan_limit_reached": ErrorCode(422, (PlanLimitError,)),
    "invalid_transition": ErrorCode(422),
    "start_requirements_not_met": ErrorCode(422),
    "experiment_running": ErrorCode(422),
    "experiment_locked": ErrorCode(422),
    "field_locked": ErrorCode(422),
    "not_draft": ErrorCode(422),
    "already_decided": ErrorCode(422),
    "open_risks": ErrorCode(422),
    "rollout_conflict": ErrorCode(422),
    "review_required": ErrorCode(422),
    "not_reviewable": ErrorCode(422),
    "no_rollout": ErrorCode(422),
    "holdout_active": ErrorCode(422),
    "sharing_forbidden": ErrorCode(422, (SharingForbiddenError,)),
    "metric_in_use": ErrorCode(422, (MetricInUseError,)),
    "group_in_use": ErrorCode(422, (GroupInUseError,)),
    "rules_changed": ErrorCode(422),
    "older_sums": ErrorCode(422),
    "counted_here": ErrorCode(422),
    "needs_visitors": ErrorCode(422),
    "last_owner": ErrorCode(422, (LastOwnerError,)),
    "rate_limited": ErrorCode(429, (QueueFullError, TooManyTestsError, UploadsFullError)),
    "internal_error": ErrorCode(500),
    "unavailable": ErrorCode(503, (CatalogBusyError, IngestError, WarehouseUnavailableError, DiskFullError)),
}
# The codes that an operation with a key, and one with a body, may answer.
KEY_CODES: Final = ("invalid_api_key", "account_inactive", "forbidden", "rate_limited")
BODY_CODES: Final = ("invalid_json", "payload_too_large", "unsupported_media_type", "validation_error")
INVALID: Final = "the request is not valid; `details` names every problem"
RETRY_AFTER_SECONDS: Final = 1


class ApiError(Exception):
    """A refused request; its code gives the status."""

    def __init__(
        self,
        code: str,
        message: str,
        problems: Iterable[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Take a code of ERROR_CODES, a message for people, and headers of the answer."""
        self.code = code
        self.message = message
        self.problems = tuple(problems)
        self.headers = dict(headers or {})
        super().__init__(message)


# The answer to every error that is raised by mistake.
UNEXPECTED: Final = ApiError("internal_error", "something went wrong on our side; quote the request id")


class ErrorDetail(BaseModel):
    """One thing wrong with one value."""

    field: str = Field(
        description="Path of the value, such as `variants[1].weight`.", examples=["variants[1].weight"]
    )
    message: str


class ErrorBody(BaseModel):
    """The code of an error, with messages for people."""

    code: str = Field(description="Stable value to branch on.", examples=["not_found"])
    message: str = Field(
        description="A sentence for people.", examples=["experiment 'exp_k3vq7xm2c5tzhn6d4wrp' not found"]
    )
    details: list[ErrorDetail] = Field(default=[], description="Each problem, where values are wrong.")
    request_id: str = Field(
        description="Quote it when reporting a problem; equals the X-Request-Id header.",
        examples=["req_k5qmt3chn6zd4wrp2v7x"],
    )


class ErrorEnvelope(BaseModel):
    """The envelope of every error."""

    error: ErrorBody


# Every error that is raised on purpose.
ANSWERED: Final[tuple[type[Exception], ...]] = (
    ApiError,
    TransitionError,
    *(error for row in ERROR_CODES.values() for error in row.errors),
)
# These, and what the framework raises.
HANDLED: Final[tuple[type[Exception], ...]] = (*ANSWERED, RequestValidationError, HTTPException)
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def install(app: FastAPI) -> None:
    """Register handlers that answer every error of HANDLED in the envelope."""
    for kind in HANDLED:
        app.add_exception_handler(kind, _handle)


async def _handle(request: Request, error: Exception) -> JSONResponse:
    return answer_to(request, error)


def answer_to(request: Request, error: Exception) -> JSONResponse:
    """Answer a request that an error of HANDLED refuses."""
    return error_response(_api_error(request, error), request.state.request_id)


def error_response(error: ApiError, request_id: str) -> JSONResponse:
    """Put one error into the envelope."""
    content = {"error": error_body(error, request_id)}
    return JSONResponse(content, status_code=ERROR_CODES[error.code].status, headers=error.headers)


def error_body(error: ApiError, request_id: str) -> dict[str, Any]:
    """Return the content of the envelope of an error."""
    content: dict[str, Any] = {"code": error.code, "message": error.message, "request_id": request_id}
    if error.problems:
        content["details"] = [
            # A problem of the whole body has no path of its own.
            {"field": problem.field or "body", "message": problem.message}
            for problem in error.problems
        ]
    return content


def documented(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Describe the error answers of an operation for OpenAPI, by status."""
    answers: dict[int | str, dict[str, Any]] = {}
    for code in codes:
        answer = answers.setdefault(ERROR_CODES[code].status, {"model": ErrorEnvelope, "description": ""})
        answer["description"] = ", ".join(filter(None, (answer["description"], f"`{code}`")))
    return answers


def merged(*described: Mapping[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    """Merge descriptions of answers: each code of a status is named once."""
    answers: dict[int | str, dict[str, Any]] = {}
    for status, answer in (pair for part in described for pair in part.items()):
        before = answers.get(status, {})
        texts = (before.get("description", ""), answer.get("description", ""))
        codes = dict.fromkeys(code for text in texts for code in text.split(", ") if code)
        answers[status] = {**before, **answer, "description": ", ".join(codes)}
    return answers


def _api_error(request: Request, error: Exception) -> ApiError:
    if isinstance(error, TransitionError):
        return ApiError(error.code, error.message, error.problems)
    if isinstance(error, RequestValidationError):
        return ApiError("validation_error", INVALID, map(_query_problem, error.errors()))
    if isinstance(error, HTTPException):
        code = next(code for code, row in ERROR_CODES.items() if row.status == error.status_code)
        headers = {"Allow": allowed_methods(request)} if error.status_code == 405 else error.headers
        return ApiError(code, f"{request.method} {request.url.path}: {error.detail}", headers=headers)
    return api_error(error)


def api_error(error: Exception) -> ApiError:
    """Convert an error of the engine or the pipeline; one of the API stays."""
    if isinstance(error, ApiError):
        return error
    code = next(code for code, row in ERROR_CODES.items() if isinstance(error, row.errors))
    if code == "validation_error":
        return ApiError(code, INVALID, getattr(error, "problems", ()))
    if code in {"unavailable", "rate_limited"}:
        seconds = getattr(error, "retry_after", RETRY_AFTER_SECONDS)
        return ApiError(code, str(error), headers={"Retry-After": str(seconds)})
    return ApiError(code, str(error))


def _query_problem(error: Mapping[str, Any]) -> Problem:
    # The first step of the path is the place of the value, such as "query".
    return Problem(".".join(map(str, error["loc"][1:])), error["msg"].removeprefix("Value error, "))


def allowed_methods(request: Request) -> str:
    """List the methods of the path; the framework would name those of its first route only."""
    scope = {"type": "http", "path": request.url.path, "root_path": "", "headers": []}
    # A mounted application takes what is left.
    routes = [route for route in request.app.state.operations() if not isinstance(route, Mount)]
    return ", ".join(
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    )
