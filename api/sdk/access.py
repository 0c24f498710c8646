"""Who may send events: a browser with its project's public key, or a server with a key of its account."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from api.auth import Caller, authenticate, require_scope, require_served
from api.errors import INVALID, ApiError
from api.services import Services
from engine.errors import Problem
from pipeline.assignment.project_cache import LiveProject
from pipeline.events.attributes import UNKNOWN_CLIENT, Client
from pipeline.store.catalog.errors import NotFoundError

SCOPE: Final = "sdk:write"
KEY_HEADER: Final = "x-sdk-key"
KEY_PARAMETER: Final = "key"
# How the routes' description says it; `sdk_key` is described beside `bearer`.
OPEN_TO_BROWSERS: Final[dict[str, Any]] = {"security": [{"bearer": [SCOPE]}, {"sdk_key": []}]}


@dataclass(frozen=True, slots=True)
class Browser:
    """Whoever has a project's public key: what it sends about itself is the visitor's own."""

    live: LiveProject


@dataclass(frozen=True, slots=True)
class Server:
    """A key of an account with the scope to send events; the request says of which project."""

    caller: Caller


async def sender_of(request: Request, services: Services) -> Browser | Server:
    """Who sends this request.

    ApiError `invalid_api_key`, `rate_limited`, `account_inactive` or `forbidden`. A public key is good for
    up to a second after its project is gone; a server's key is looked up each time, so that revoking it
    works at once.
    """
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        caller = await run_in_threadpool(
            authenticate, token if scheme.lower() == "bearer" else None, services.catalog, datetime.now(UTC)
        )
        require_served(caller)
        require_scope(caller, SCOPE)
        return Server(caller)
    sdk_key = request.headers.get(KEY_HEADER) or request.query_params.get(KEY_PARAMETER)
    live = await _with_key(services, sdk_key or "")
    await _require_room(request, services, live)
    if not live.account.is_served:
        raise ApiError("account_inactive", "the subscription of the project's account has ended")
    return Browser(live)


def client_of(request: Request, sender: Browser | Server) -> Client:
    """What the request tells about the visitor; a server's own headers tell nothing."""
    return Client.of_headers(dict(request.headers)) if isinstance(sender, Browser) else UNKNOWN_CLIENT


def address_of(request: Request, sender: Browser | Server) -> str | None:
    """The visitor's network address; None where a server speaks for the visitor."""
    return request.client.host if isinstance(sender, Browser) and request.client else None


async def project_of(
    request: Request, sender: Browser | Server, services: Services, project_id: str | None
) -> LiveProject:
    """The project that the events belong to; NotFoundError for one that the key does not reach."""
    if isinstance(sender, Browser):
        return sender.live
    if not project_id:
        problem = Problem("project_id", "is required with a bearer key, in the body or the query")
        raise ApiError("validation_error", INVALID, [problem])
    if not sender.caller.key.reaches(project_id):
        raise NotFoundError("project", project_id)
    kept = services.live_projects.kept("id", project_id)
    live = await run_in_threadpool(services.live_projects.with_id, project_id) if kept is None else kept
    if live.project.account_id != sender.caller.account.id:
        raise NotFoundError("project", project_id)
    await _require_room(request, services, live)
    return live


async def _require_room(request: Request, services: Services, live: LiveProject) -> None:
    """Count the request, to the project and not to its account. ApiError `rate_limited`."""
    count = partial(
        services.limits.count, f"sdk/{live.project.id}", services.settings.sdk_rate_limit_per_minute
    )
    # In memory it takes less than to hand it to a worker thread.
    window = count() if services.limits.is_local else await run_in_threadpool(count)
    request.state.window = window
    window.require_room()


async def _with_key(services: Services, sdk_key: str) -> LiveProject:
    kept = services.live_projects.kept("key", sdk_key)
    if kept is not None:
        return kept
    try:
        return await run_in_threadpool(services.live_projects.with_key, sdk_key)
    except NotFoundError:
        raise ApiError(
            "invalid_api_key",
            "send the project's public key as X-SDK-Key or ?key=, or a bearer key with the scope sdk:write",
            headers={"WWW-Authenticate": "Bearer"},
        ) from None
