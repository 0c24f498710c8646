"""Operations of the API, called in this process with the key of a session."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.page_errors import NotSignedInError, PageError
from api.dashboard.page_threads import on_page_thread
from api.dashboard.sessions import SignedIn
from api.in_process import OperationAnswer, OperationRequest, PassedOnResponse, send_in_process

API = "/api/v1"


@dataclass(frozen=True, slots=True)
class SentContent:
    """A file for the API, and its media type."""

    content: bytes
    media_type: str


async def ask(  # noqa: PLR0913 - the parts of a request
    request: Request,
    session: SignedIn,
    path: str,
    *,
    method: str = "GET",
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    file: SentContent | None = None,
    idempotency_key: str | None = None,
    if_match: str | None = None,
) -> OperationAnswer:
    """Send a request to the API; `path` comes after its prefix, with ids quoted; a `file` is its body."""
    written = partial(_request_of, request, session, path, method=method, query=query, body=body)
    sent = written() if body is None else await on_page_thread(request, written)
    if file is not None:
        sent.headers.append((b"content-type", file.media_type.encode()))
        sent = replace(sent, body=file.content)
    if idempotency_key:
        sent.headers.append((b"idempotency-key", idempotency_key.encode()))
    if if_match:
        sent.headers.append((b"if-match", if_match.encode()))
    return await send_in_process(sent, request)


async def read(
    request: Request, session: SignedIn, path: str, query: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Read what an operation answers; NotSignedInError, PageError with its status."""
    return content_of(await ask(request, session, path, query=query))


def content_of(answer: OperationAnswer) -> dict[str, Any]:
    """Return the JSON of an answer; NotSignedInError for 401, PageError for other errors."""
    if answer.status >= 400:
        raise error_of(answer)
    return answer.content or {}


def error_of(answer: OperationAnswer) -> NotSignedInError | PageError:
    """Return the error that a refusal is to a page: NotSignedInError for 401, PageError for others."""
    if answer.status == 401:
        return NotSignedInError()
    return PageError(answer.status, sentence_of(answer.content or {}))


def sentence_of(content: Mapping[str, Any]) -> str:
    """Return the message of an error, with what is wrong in each field."""
    error = content.get("error", {})
    details = error.get("details") or []
    parts = [
        f"{detail.get('field')}: {detail.get('message')}" for detail in details if isinstance(detail, dict)
    ]
    return "; ".join(parts) or str(error.get("message", "The request failed."))


def pass_on(request: Request, session: SignedIn, path: str, query: Mapping[str, Any]) -> Response:
    """Answer with the file that an operation answers with."""
    return PassedOnResponse(_request_of(request, session, path, query=query), request)


def _request_of(  # noqa: PLR0913 - the parts of a request
    request: Request,
    session: SignedIn,
    path: str,
    *,
    method: str = "GET",
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
) -> OperationRequest:
    headers = [
        (b"authorization", f"Bearer {session.api_token}".encode()),
        (b"host", request.headers.get("host", "localhost").encode("latin-1")),
    ]
    if body is not None:
        headers.append((b"content-type", b"application/json"))
    return OperationRequest(
        method=method,
        path=API + path,
        query=urlencode({name: value for name, value in (query or {}).items() if value is not None}).encode(),
        headers=headers,
        body=b"" if body is None else json.dumps(body).encode(),
    )
