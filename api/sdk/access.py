"""Access to the SDK endpoints: a project's public key in a browser, or an API key on a server."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
from fastapi import Request

from api.auth import Caller, authenticate, invalid_key, require_scope, require_served
from api.errors import ANSWERED, INVALID, ApiError
from api.middleware.proxies import client_address
from api.off_loop import in_thread
from api.sdk.admission import Admission, Browser, SdkServices
from api.sdk.sending_page import page_of
from engine.design.project import Project
from engine.errors import Problem
from engine.validation.values import shown
from pipeline.assignment.project_cache import CachedProject, Kind, ProjectCache
from pipeline.assignment.snippet import is_own_page
from pipeline.clock import utc_now
from pipeline.events.attributes import UNKNOWN_CLIENT, Client
from pipeline.events.body import InvalidBodyError
from pipeline.events.request_headers.consent import missing_consent
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.keys import RefusedKey
from pipeline.store.event_columns import Sender

SCOPE: Final = "sdk:write"
KEY_HEADER: Final = "x-sdk-key"
KEY_PARAMETER: Final = "key"
CONSENT_PARAMETER: Final = "consent"
INACTIVE: Final = "the subscription of the project's account has ended"
# Both ways in, as the OpenAPI document states them; the scheme `sdk_key` is defined beside `bearer`.
OPEN_TO_BROWSERS: Final[dict[str, Any]] = {"security": [{"bearer": [SCOPE]}, {"sdk_key": []}]}


class SdkBody(Protocol):
    """A decoded body; a server names the project in it, or in the query."""

    @property
    def project_id(self) -> str | None:
        """The project's id."""


# Counts the bytes of a body; ApiError `rate_limited` where they are too many.
CountBytes: TypeAlias = Callable[[int], None]
BodyT = TypeVar("BodyT", bound=SdkBody)


class SdkRequest(msgspec.Struct, Generic[BodyT], frozen=True):
    """A request that may pass: its project and body, and what a browser's headers tell of the visitor.

    A server's own headers tell nothing of a visitor, so its requests have the defaults.
    """

    cached: CachedProject
    body: BodyT
    sender: Sender
    admission: Admission
    client: Client = UNKNOWN_CLIENT
    city: str | None = None
    # The visitor's network address, and its keyed hash.
    address: str | None = None
    address_key: int | None = None
    # Whether the project stores nothing from the visitor's network address.
    is_excluded: bool = False
    # Why nothing of the visitor may be stored; None where it may.
    missing_consent: str | None = None
    # The site or address of the page that sent the request.
    page: str | None = None


async def read_request(
    request: Request, services: SdkServices, read: Callable[[CountBytes], Awaitable[BodyT]]
) -> SdkRequest[BodyT]:
    """Check the key, read the body with `read`, which counts its bytes, and find the project.

    A public key works for up to a second after its project is deleted; an API key is looked up each time,
    so that revoking it takes effect at once.

    Raises:
        ApiError: `invalid_api_key`, `rate_limited`, `account_inactive`, `forbidden`, a refusal of the body,
            or `validation_error` where a server names no project.
        NotFoundError: a project that the API key does not reach.
    """
    admission = services.admission(request)
    authorization = request.headers.get("authorization")
    if authorization is not None:
        caller = await _server_caller(request, authorization, services)
        try:
            require_served(caller)
            require_scope(caller, SCOPE)
            named = request.query_params.get("project_id")
            cached, body = await _read_of_server(services, caller, read, named)
        except ANSWERED:
            # Such a request is of no project whose limit it could use up.
            await admission.count_request(caller.account.id)
            raise
        await admission.count_request(cached.project.id)
        return SdkRequest(cached, body, "server", admission)
    cached = await project_of_browser(request, services, admission)
    address = client_address(request)
    address_key = services.address_key(address)
    # An address that has used up its quota is refused before its body is read.
    browser = Browser(cached.project.id, address_key)
    admission.require_room(browser)
    location = services.locations.locate(request.headers, address)
    return SdkRequest(
        cached,
        await read(partial(admission.count_bytes, browser)),
        "browser",
        admission,
        Client.of_headers(request.headers, location),
        location.city,
        address,
        address_key,
        cached.excludes(address),
        missing_consent(cached.project, request.headers, partial(_consent_of, request)),
        page_of(request),
    )


def _consent_of(request: Request) -> str | None:
    return request.query_params.get(CONSENT_PARAMETER)


def _take_any(number: int) -> None:
    """Take any number of bytes: servers have no quota."""


async def _server_caller(request: Request, authorization: str, services: SdkServices) -> Caller:
    scheme, _, token = authorization.partition(" ")
    return await in_thread(
        authenticate,
        token if scheme.lower() == "bearer" else None,
        services.catalog,
        utc_now(),
        partial(services.key_refusals.note, request, "sdk"),
    )


async def _read_of_server(
    services: SdkServices, caller: Caller, read: Callable[[CountBytes], Awaitable[BodyT]], named: str | None
) -> tuple[CachedProject, BodyT]:
    """Find the project before the body is judged: in the query, or else in a body that is JSON."""
    if named:
        return await _project_of_server(services, caller, named), await read(_take_any)
    try:
        body = await read(_take_any)
    except InvalidBodyError as error:
        if error.project_id:
            await _project_of_server(services, caller, error.project_id)
        raise
    return await _project_of_server(services, caller, body.project_id), body


async def _project_of_server(services: SdkServices, caller: Caller, project_id: str | None) -> CachedProject:
    if not project_id:
        problem = Problem("project_id", "is required with a bearer key, in the body or the query")
        raise ApiError("validation_error", INVALID, [problem])
    if not caller.key.reaches(project_id):
        raise NotFoundError("project", project_id)
    cached = await _cached_project(services.project_cache, "id", project_id)
    if cached.project.account_id != caller.account.id:
        raise NotFoundError("project", project_id)
    return cached


def sdk_key_of(request: Request) -> str:
    """Return the public key that a browser sends; empty where it sends none."""
    return request.headers.get(KEY_HEADER) or request.query_params.get(KEY_PARAMETER) or ""


async def project_of_key(services: SdkServices, sdk_key: str) -> CachedProject:
    """Find the project of a public key; NotFoundError."""
    if not (sdk_key.isascii() and sdk_key.isprintable()):
        # PostgreSQL takes no text with a null character.
        raise NotFoundError("project", sdk_key)
    return await _cached_project(services.project_cache, "key", sdk_key)


async def _cached_project(cache: ProjectCache, kind: Kind, value: str) -> CachedProject:
    cached = cache.fresh(kind, value)
    if cached is None:
        return await in_thread(cache.with_id if kind == "id" else cache.with_key, value)
    if cache.take_refresh(kind, value):
        asyncio.get_running_loop().run_in_executor(None, cache.refresh, kind, value)
    return cached


async def project_of_browser(request: Request, services: SdkServices, admission: Admission) -> CachedProject:
    """Find the project of a public key, and count the request to it: 401, 429, 402."""
    sdk_key = sdk_key_of(request)
    try:
        cached = await project_of_key(services, sdk_key)
    except NotFoundError:
        refused = RefusedKey("unknown" if sdk_key else "missing")
        raise invalid_key(
            "send the project's public key as X-SDK-Key or ?key=, or a bearer key with the scope sdk:write",
            services.key_refusals.note(request, "public_key", refused),
        ) from None
    await admission.count_request(cached.project.id)
    if not cached.account.is_served:
        raise ApiError("account_inactive", INACTIVE)
    _require_own_page(request, cached.project)
    return cached


def _require_own_page(request: Request, project: Project) -> None:
    """Require a page on the project's hosts where only these are allowed; ApiError `forbidden`."""
    if not project.allowed_hosts_only:
        return
    page = page_of(request)
    if not is_own_page(project, page):
        raise ApiError(
            "forbidden",
            "the project takes requests from pages on its own hosts only (allowed_hosts_only), and this one "
            f"comes from {shown(page) if page else 'a page that sends neither Origin nor Referer'}",
        )
