"""Idempotent routes: a write repeated with the same Idempotency-Key gets its stored reply."""

import inspect
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, Final, get_type_hints

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool

from api.auth import Caller, OutOfReachError
from api.bodies.json_body import body_bytes
from api.deps import ServicesDep
from api.errors import ANSWERED, INVALID, ApiError, answer_to, documented, merged
from api.idempotency.replies import StoredReply, fingerprint_of, is_stored
from api.off_loop import off_loop
from api.responses import as_response
from api.services import Services
from engine.errors import Problem
from pipeline.clock import utc_now
from pipeline.store.catalog.errors import CatalogBusyError, NotFoundError
from pipeline.store.catalog.idempotency import Claim, Repeatable

METHODS: Final = frozenset({"POST", "PATCH", "DELETE"})
HEADER: Final = "Idempotency-Key"
MAX_KEY_LENGTH: Final = 255
REPLAYED: Final = {"Idempotent-Replayed": "true"}
CODES: Final = ("idempotency_key_reused", "idempotency_key_in_use", "validation_error")
PARAMETER: Final[dict[str, Any]] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
    "description": "A key of your choice. The same request sent again with it within 24 hours is not carried "
    "out again: it gets the first answer, with `Idempotent-Replayed: true`.",
}


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A write with an Idempotency-Key, its caller, and the services that store its reply."""

    request: Request
    services: Services
    caller: Caller
    repeatable: Repeatable


async def idempotent_request(request: Request, services: ServicesDep) -> IdempotentRequest | None:
    """Return the write with its key and fingerprint; None where the request has no key.

    The last dependency of a route, so that all other refusals come first.

    Raises:
        ApiError: `validation_error` for a key of the wrong length, `payload_too_large`.
    """
    keys = request.headers.getlist(HEADER)
    if not keys:
        return None
    if len(keys) > 1 or not 1 <= len(keys[0]) <= MAX_KEY_LENGTH:
        problem = Problem(HEADER, f"must be one text of 1 to {MAX_KEY_LENGTH} characters")
        raise ApiError("validation_error", INVALID, [problem])
    caller: Caller = request.state.caller
    body = await body_bytes(request)
    fingerprint = await off_loop(len(body), fingerprint_of, request, body)
    repeatable = Repeatable(caller.account.id, keys[0], fingerprint)
    return IdempotentRequest(request, services, caller, repeatable)


class IdempotentRoute(APIRoute):
    """A route whose writes can be sent again with the same Idempotency-Key."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **arguments: Any) -> None:  # noqa: ANN401 - the framework's
        """Take the arguments of any route; document the header and its error codes for a write."""
        self.is_write = bool(METHODS & set(arguments.get("methods") or ()))
        status = arguments.get("status_code") or 200
        if not self.is_write:
            endpoint = _serialized(endpoint, status)
        else:
            endpoint = _idempotent(endpoint, status)
            arguments["responses"] = merged(arguments.get("responses") or {}, documented(*CODES))
            extra = arguments.get("openapi_extra") or {}
            arguments["openapi_extra"] = {**extra, "parameters": [*extra.get("parameters", ()), PARAMETER]}
        super().__init__(path, endpoint, **arguments)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that replays a stored reply where the resource is gone.

        A repeated DELETE finds nothing, because the first one removed it.
        """
        handle = super().get_route_handler()
        if not self.is_write:
            return handle

        async def handle_or_replay(request: Request) -> Response:
            try:
                return await handle(request)
            except OutOfReachError:
                raise
            except NotFoundError:
                stored = await _stored_answer(request)
                if stored is None:
                    raise
                return stored

        return handle_or_replay


def _idempotent(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """Wrap an endpoint: an IdempotentRequest becomes the last of its dependencies."""
    if inspect.iscoroutinefunction(endpoint):
        raise TypeError(f"{endpoint.__name__} must be a plain function: its writes share one thread")
    respond = _serialized(endpoint, status)

    @wraps(respond)
    def answer(*, idempotent: IdempotentRequest | None, **arguments: Any) -> Any:  # noqa: ANN401 - the endpoint's
        work = partial(respond, **arguments)
        return work() if idempotent is None else _answer_once(idempotent, work)

    _add_parameter(
        answer, respond, "idempotent", Annotated[IdempotentRequest | None, Depends(idempotent_request)]
    )
    return answer


def _serialized(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """Serialize an endpoint's result in its own thread; the framework would do so on the event loop."""
    answer_type = get_type_hints(endpoint, include_extras=True)["return"]
    is_answer = isinstance(answer_type, type) and issubclass(answer_type, Response)
    if is_answer or inspect.iscoroutinefunction(endpoint):
        return endpoint
    adapter = None if answer_type is type(None) else TypeAdapter(answer_type)

    @wraps(endpoint)
    def respond(*, injected: Response, **arguments: Any) -> Response:  # noqa: ANN401 - the endpoint's
        return as_response(endpoint(**arguments), adapter, status, injected)

    # Its headers are set by the endpoint, and by what it depends on.
    _add_parameter(respond, endpoint, "injected", Annotated[Response, Depends(_injected)])
    return respond


async def _injected(response: Response) -> Response:
    # A dependency, since an endpoint has one parameter of this type at most.
    return response


def _add_parameter(
    wrapper: Callable[..., Any], endpoint: Callable[..., Any], name: str, annotation: object
) -> None:
    """Give a wrapper the parameters of its endpoint, and one of its own after them."""
    signature = inspect.signature(endpoint)
    own = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
    given = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in signature.parameters.values()]
    wrapper.__signature__ = signature.replace(parameters=[*given, own])  # type: ignore[attr-defined] # inspect's protocol


def _answer_once(idempotent: IdempotentRequest, work: Callable[[], Response]) -> Response:
    replies = idempotent.services.catalog.idempotency_keys
    claim = replies.claim(idempotent.repeatable, now=utc_now())
    if isinstance(claim, bytes):
        return _replay(idempotent, claim)
    try:
        return _answer_and_store(idempotent, claim, work)
    except BaseException:
        # A claim that cannot be released expires.
        with suppress(CatalogBusyError):
            replies.release(claim)
        raise


def _answer_and_store(idempotent: IdempotentRequest, claim: Claim, work: Callable[[], Response]) -> Response:
    """Do the work and store the answer in one transaction, so that a crash leaves both or neither."""
    catalog = idempotent.services.catalog
    with catalog.database.together():
        try:
            answer = work()
        except ANSWERED as error:
            answer = answer_to(idempotent.request, error)
            if not is_stored(answer.status_code):
                raise
        reply = StoredReply.of(answer, idempotent.request.state.request_id, idempotent.caller.key)
        catalog.idempotency_keys.keep(claim, reply.encrypt(idempotent.services.cipher), now=utc_now())
    return answer


async def _stored_answer(request: Request) -> Response | None:
    try:
        idempotent = await idempotent_request(request, request.app.state.services)
    except ApiError:
        return None
    if idempotent is None:
        return None
    find = idempotent.services.catalog.idempotency_keys.find
    encrypted = await run_in_threadpool(find, idempotent.repeatable, now=utc_now())
    return None if encrypted is None else await run_in_threadpool(_replay, idempotent, encrypted)


def _replay(idempotent: IdempotentRequest, encrypted: bytes) -> Response:
    reply = StoredReply.decrypt(encrypted, idempotent.services.cipher)
    reply.require_access(idempotent.caller.key)
    # The first request's id finds its log lines, and an error names it in its body.
    idempotent.request.state.request_id = reply.request_id
    return Response(reply.body, reply.status, {**reply.headers, **REPLAYED})
