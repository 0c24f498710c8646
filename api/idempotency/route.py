"""Which writes repeat an earlier one, and what they are answered: the same, and nothing is done twice."""

import inspect
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Annotated, Any, Final, get_type_hints

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool

from api.auth import Caller, OutOfReachError
from api.bodies.json_body import body_of
from api.deps import ServicesDep
from api.errors import ANSWERED, INVALID, ApiError, answer_to, documented, merged
from api.idempotency.replies import StoredReply, fingerprint_of, is_kept
from api.services import Services
from engine.errors import Problem
from pipeline.store.catalog.errors import CatalogBusyError, NotFoundError
from pipeline.store.catalog.idempotency import Claim, Repeatable

METHODS: Final = frozenset({"POST", "PATCH", "DELETE"})
HEADER: Final = "Idempotency-Key"
LONGEST_KEY: Final = 255
REPLAYED: Final = {"Idempotent-Replayed": "true"}
CODES: Final = ("idempotency_key_reused", "idempotency_key_in_use", "validation_error")
PARAMETER: Final[dict[str, Any]] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
    "description": "A key of your choice. The same request sent again with it within 24 hours is not carried "
    "out again: it gets the first answer, with `Idempotent-Replayed: true`.",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A write that its sender may repeat, with what it takes to answer it once."""

    request: Request
    services: Services
    caller: Caller
    repeatable: Repeatable


async def attempt_of(request: Request, services: ServicesDep) -> Attempt | None:
    """The attempt that a request is; None if it has no key. ApiError for a key or a body beyond limits.

    A route asks for it last: whatever else can be refused has been.
    """
    keys = request.headers.getlist(HEADER)
    if not keys:
        return None
    if len(keys) > 1 or not 1 <= len(keys[0]) <= LONGEST_KEY:
        problem = Problem(HEADER, f"must be one text of 1 to {LONGEST_KEY} characters")
        raise ApiError("validation_error", INVALID, [problem])
    caller: Caller = request.state.caller
    fingerprint = fingerprint_of(request, await body_of(request))
    return Attempt(request, services, caller, Repeatable(caller.account.id, keys[0], fingerprint))


class RepeatableRoute(APIRoute):
    """A route whose writes can be sent again with the same key."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **arguments: Any) -> None:  # noqa: ANN401 - the framework's
        """Take what any route takes, and say in its description what it takes besides."""
        self.is_write = bool(METHODS & set(arguments.get("methods") or ()))
        if self.is_write:
            endpoint = _answering_once(endpoint, arguments.get("status_code") or 200)
            arguments["responses"] = merged(arguments.get("responses") or {}, documented(*CODES))
            extra = arguments.get("openapi_extra") or {}
            arguments["openapi_extra"] = {**extra, "parameters": [*extra.get("parameters", ()), PARAMETER]}
        super().__init__(path, endpoint, **arguments)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Answer; what is gone may have been taken away by this very request, sent before."""
        handle = super().get_route_handler()
        if not self.is_write:
            return handle

        async def handle_repeatable(request: Request) -> Response:
            try:
                return await handle(request)
            except OutOfReachError:
                raise
            except NotFoundError:
                earlier = await _earlier_answer(request)
                if earlier is None:
                    raise
                return earlier

        return handle_repeatable


def _answering_once(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """The same endpoint, asking for the attempt after everything else that it asks for."""
    if inspect.iscoroutinefunction(endpoint):
        raise TypeError(f"{endpoint.__name__} must be a plain function: its writes share one thread")
    answer_type = get_type_hints(endpoint, include_extras=True)["return"]
    adapter = None if answer_type is type(None) else TypeAdapter(answer_type)

    @wraps(endpoint)
    def answer(*, attempt: Attempt | None, **arguments: Any) -> Any:  # noqa: ANN401 - whatever the endpoint says
        work = partial(endpoint, **arguments)
        if attempt is None:
            return work()
        injected = next((given for given in arguments.values() if isinstance(given, Response)), None)
        return _answer_once(attempt, lambda: _answer_of(work(), adapter, status, injected))

    signature = inspect.signature(endpoint)
    annotation = Annotated[Attempt | None, Depends(attempt_of)]
    last = inspect.Parameter("attempt", inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
    asked = [given.replace(kind=inspect.Parameter.KEYWORD_ONLY) for given in signature.parameters.values()]
    answer.__signature__ = signature.replace(parameters=[*asked, last])  # type: ignore[attr-defined] # inspect's protocol
    return answer


def _answer_of(
    result: object, adapter: TypeAdapter[Any] | None, status: int, injected: Response | None
) -> Response:
    """What the framework would make of an endpoint's result, made here so that it can be kept."""
    if isinstance(result, Response):
        return result
    headers = {
        name: value
        for name, value in (injected.headers.items() if injected else ())
        if name != "content-length"
    }
    if adapter is None:
        return Response(status_code=status, headers=headers)
    content = adapter.dump_json(adapter.validate_python(result, from_attributes=True), by_alias=True)
    return Response(content, status, headers, media_type="application/json")


def _answer_once(attempt: Attempt, work: Callable[[], Response]) -> Response:
    replies = attempt.services.catalog.replies
    found = replies.claim(attempt.repeatable, now=datetime.now(UTC))
    if isinstance(found, bytes):
        return _replayed(attempt, found)
    try:
        return _answer_and_keep(attempt, found, work)
    except BaseException:
        # A claim that cannot be given back expires.
        with suppress(CatalogBusyError):
            replies.release(found)
        raise


def _answer_and_keep(attempt: Attempt, claim: Claim, work: Callable[[], Response]) -> Response:
    """Do the work and keep the answer, both or neither: whatever ends the process between finds neither."""
    catalog = attempt.services.catalog
    with catalog.database.together():
        try:
            answer = work()
        except ANSWERED as error:
            answer = answer_to(attempt.request, error)
            if not is_kept(answer.status_code):
                raise
        kept = StoredReply.of(answer, attempt.request.state.request_id, attempt.caller.key)
        catalog.replies.keep(claim, kept.sealed_by(attempt.services.seal), now=datetime.now(UTC))
    return answer


async def _earlier_answer(request: Request) -> Response | None:
    try:
        attempt = await attempt_of(request, request.app.state.services)
    except ApiError:
        return None
    if attempt is None:
        return None
    find = attempt.services.catalog.replies.find
    sealed = await run_in_threadpool(find, attempt.repeatable, now=datetime.now(UTC))
    return None if sealed is None else _replayed(attempt, sealed)


def _replayed(attempt: Attempt, sealed: bytes) -> Response:
    kept = StoredReply.opened(sealed, attempt.services.seal)
    kept.require_right(attempt.caller.key)
    # The id that leads to what was done, and that an error names in its body.
    attempt.request.state.request_id = kept.request_id
    return Response(kept.body, kept.status, {**kept.headers, **REPLAYED})
