"""Flags: experiments by the OpenFeature Remote Evaluation Protocol (OFREP 1), as payloads or booleans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.routing import Route

from api.bodies.event_body import VISIT, read_event_body
from api.errors import ApiError, error_body
from api.off_loop import off_loop
from api.results.entity_tags import is_none_match, weak_tag
from api.sdk.access import KEY_HEADER, CountBytes, read_request
from api.sdk.admission import VisitServices
from api.sdk.init import visit
from pipeline.assignment.decide import DecisionStatus, VariantDecision
from pipeline.assignment.request import InitBody, MissingTargetingKeyError, decode_evaluation
from pipeline.events.body import InvalidBodyError, MalformedBodyError

PROJECT_HEADER: Final = "x-project-id"
API_KEY_HEADER: Final = "x-api-key"
_PUBLIC: Final = "pk_"
_CREDENTIALS: Final = frozenset({b"authorization", API_KEY_HEADER.encode(), KEY_HEADER.encode()})
_REASONS: Final[Mapping[DecisionStatus, str]] = {
    "new": "SPLIT",
    "existing": "SPLIT",
    "forced": "TARGETING_MATCH",
    "excluded": "DEFAULT",
    "rollout": "TARGETING_MATCH",
}
# Codes of the protocol → the status, and the code of this API.
_CODES: Final[Mapping[str, tuple[int, str]]] = {
    "PARSE_ERROR": (400, "invalid_json"),
    "TARGETING_KEY_MISSING": (400, "invalid_request"),
    "INVALID_CONTEXT": (400, "invalid_request"),
    "FLAG_NOT_FOUND": (404, "not_found"),
}


@dataclass(frozen=True, slots=True)
class FlagError(Exception):
    """A refused evaluation: a code of the protocol, and a sentence."""

    code: str
    details: str


async def answer_flag(request: Request) -> Response:
    """Evaluate one flag: the test key of an experiment that runs, is paused, or is rolled out."""
    key = request.path_params["key"]
    try:
        decisions = await _evaluate(request, only=key)
    except FlagError as error:
        return _error_answer(request, error, {"key": key})
    if not decisions:
        unknown = FlagError(
            "FLAG_NOT_FOUND", f"the project has no running, paused or shipped experiment {key!r}"
        )
        return _error_answer(request, unknown, {"key": key})
    return JSONResponse(_flag(decisions[0]))


async def answer_flags(request: Request) -> Response:
    """Evaluate every running, paused and rolled out experiment; 304 where nothing has changed."""
    try:
        decisions = await _evaluate(request)
    except FlagError as error:
        return _error_answer(request, error, {})
    content = msgspec.json.encode({"flags": [_flag(decision) for decision in decisions]})
    tag = weak_tag(content)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if is_none_match(tag, request.headers.get("if-none-match", "")):
        return Response(content, media_type="application/json", headers=headers)
    return Response(status_code=304, headers=headers)


async def _evaluate(request: Request, only: str | None = None) -> Sequence[VariantDecision]:
    """Decide on every experiment for the visitor of the context, or on that of one test key; FlagError."""
    services: VisitServices = request.app.state.services
    sdk_request = _with_credentials(request)

    async def read(count_bytes: CountBytes) -> InitBody:
        body = await read_event_body(sdk_request, VISIT)
        count_bytes(len(body))
        return await off_loop(len(body), decode_evaluation, body, request.headers.get(PROJECT_HEADER))

    try:
        received = await read_request(sdk_request, services, read)
        decided = await visit(services, received, only=only)
    except MalformedBodyError as error:
        raise FlagError("PARSE_ERROR", str(error)) from error
    except MissingTargetingKeyError as error:
        raise FlagError("TARGETING_KEY_MISSING", f"targetingKey {error}") from error
    except InvalidBodyError as error:
        raise FlagError("INVALID_CONTEXT", f"{error.problems[0].field}: {error}") from error
    return decided.decisions


def _with_credentials(request: Request) -> Request:
    """Return the request with its key where the SDK endpoints look: the protocol knows two headers."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    key = token if scheme.lower() == "bearer" else request.headers.get(API_KEY_HEADER, "")
    headers = [(name, value) for name, value in request.scope["headers"] if name not in _CREDENTIALS]
    if key.startswith(_PUBLIC):
        headers.append((KEY_HEADER.encode(), key.encode()))
    elif key:
        headers.append((b"authorization", f"Bearer {key}".encode()))
    return Request({**request.scope, "headers": headers}, request.receive)


def _flag(decision: VariantDecision) -> dict[str, Any]:
    variant = decision.variant
    metadata = {"experiment_id": decision.experiment.id}
    if variant is None:
        metadata["explanation"] = decision.reason
    else:
        metadata["variant_id"] = variant.id
    return {
        "key": decision.experiment.test_key,
        **_value(decision),
        "reason": _REASONS[decision.status],
        # Providers read it of every flag.
        "variant": "" if variant is None else variant.name,
        "metadata": metadata,
    }


def _value(decision: VariantDecision) -> dict[str, Any]:
    """Return the value: without payloads whether the variant is no control; no value is the code's default.

    Whole numbers beside fractions are written as such: providers with static types know two kinds of numbers.
    """
    experiment, variant = decision.experiment, decision.variant
    if not experiment.has_payloads:
        return {"value": variant is not None and not variant.is_control}
    if variant is None or variant.payload is None:
        return {}
    has_fractions = any(isinstance(one.payload, float) for one in experiment.variants)
    return {"value": float(variant.payload) if has_fractions else variant.payload}


def _error_answer(request: Request, error: FlagError, key: Mapping[str, str]) -> JSONResponse:
    status, code = _CODES[error.code]
    envelope = error_body(ApiError(code, error.details), request.state.request_id)
    content = {**key, "errorCode": error.code, "errorDetails": error.details, "error": envelope}
    return JSONResponse(content, status_code=status)


_PATH: Final = "/ofrep/v1/evaluate/flags"
ROUTES: Final = (
    Route(_PATH, answer_flags, methods=["POST"]),
    Route(_PATH + "/{key}", answer_flag, methods=["POST"]),
)
