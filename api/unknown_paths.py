"""Paths and methods that the API does not have: refused like any other request, the key first."""

from fastapi import HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from api.auth import bearer, require_served
from api.deps import authenticated
from api.errors import allowed_methods
from api.middleware.cors import PATHS as SDK_PATHS
from api.sdk.access import project_of_browser
from api.services import Services
from pipeline.clock import utc_now


async def refuse_unknown_path(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - ASGI's signature
    """Refuse a request that no route takes: 401, 429, 402, and then 404 or 405."""
    request = Request(scope)
    services: Services = request.app.state.services
    credentials: HTTPAuthorizationCredentials | None = await bearer(request)
    if credentials is None and request.url.path.startswith(SDK_PATHS):
        await project_of_browser(request, services, services.admission(request))
    else:
        require_served(await run_in_threadpool(authenticated, request, credentials, services, utc_now()))
    raise HTTPException(405 if allowed_methods(request) else 404)
