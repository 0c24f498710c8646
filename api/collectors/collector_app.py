"""Application of a collector: answers requests with events, and passes every other one on to the owner."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from fastapi import Request, Response
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from api.bodies.slices import Turns
from api.collectors.forwarding import forward
from api.collectors.owner_link import OwnerLink
from api.collectors.remote_admission import RemoteAdmission, StaleProjectError
from api.middleware.cors import PATHS as SDK_PATHS
from api.middleware.outer_middleware import OuterMiddleware
from api.sdk.endpoints import Endpoint, SdkEndpoints
from api.sdk.indexed_request import IndexedRequest
from api.sdk.snippet_verification import SnippetVerification
from api.sdk.track import answer_conversions, answer_events
from pipeline.assignment.project_cache import ProjectCache
from pipeline.encryption_key import derive_secret
from pipeline.events.address_keys import AddressKey, address_keys
from pipeline.events.request_headers.location import Locations
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.keys import RefusedKey
from pipeline.store.catalog.refused_keys import Way

ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    f"{SDK_PATHS}track": answer_events,
    f"{SDK_PATHS}convert": answer_conversions,
}
# A request whose project is changed that often while it is answered is left to the owner.
MOST_ATTEMPTS: Final = 3
_RAW_PATHS: Final = frozenset(path.encode() for path in ENDPOINTS)


class LeftToOwnerError(Exception):
    """The owner answers the request from its beginning."""


class OwnersRefusals:
    """Refusals of keys, which the owner notes and answers, for all processes together."""

    def note(self, _request: HTTPConnection, _way: Way, _refused: RefusedKey) -> NoReturn:
        """Leave the request to the owner."""
        raise LeftToOwnerError


@dataclass(frozen=True, slots=True)
class CollectorServices:
    """Everything a request with events may need."""

    settings: Settings
    catalog: Catalog
    project_cache: ProjectCache
    address_key: AddressKey
    turns: Turns
    snippet_verification: SnippetVerification
    locations: Locations
    owner: OwnerLink
    key_refusals: OwnersRefusals

    def admission(self, request: Request) -> RemoteAdmission:
        """Begin the admission of a request, which `retry_when_stale` ends."""
        admission = request.state.admission = RemoteAdmission(self.owner, request)
        return admission


def collector_services(settings: Settings, catalog: Catalog, owner: OwnerLink) -> CollectorServices:
    """Build the services of a collector on its own connections to the catalog."""
    return CollectorServices(
        settings=settings,
        catalog=catalog,
        project_cache=ProjectCache(catalog, version=lambda: owner.version),
        address_key=address_keys(derive_secret(settings, b"address_key")),
        turns=Turns(),
        snippet_verification=SnippetVerification(catalog),
        locations=Locations(settings.geoip_file),
        owner=owner,
        key_refusals=OwnersRefusals(),
    )


class CollectorApp:
    """ASGI application: the same middleware and endpoints as the owner's for requests with events."""

    def __init__(self, services: CollectorServices) -> None:
        """Answer with the services of a collector."""
        self._owner = services.owner
        routes = [
            Route(path, retry_when_stale(endpoint), methods=["POST"]) for path, endpoint in ENDPOINTS.items()
        ]
        middleware = [
            Middleware(OuterMiddleware, networks=services.settings.trusted_networks),
            Middleware(SdkEndpoints, routes=routes),
        ]
        self._events = Starlette(middleware=middleware)
        self._events.state.services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        # A path that is written in another way is the owner's to read.
        if scope["method"] == "POST" and scope.get("raw_path") in _RAW_PATHS:
            await self._answer_events(scope, receive, send)
        else:
            await forward(self._owner, scope, receive, send)

    async def _answer_events(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = {**scope.get("state", {})}
        # A copy, since the middleware changes it, and the owner takes the request as it was sent.
        await self._events({**scope, "state": state}, receive, send)
        receive_again: RepeatableReceive | None = state.get("left_to_owner")
        if receive_again is not None:
            await forward(self._owner, scope, receive_again, send)


class NoResponse(Response):
    """The response to a request that is left to the owner."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send nothing."""


def retry_when_stale(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Answer by an endpoint, again where its project was changed, and raise refusals of the owner first."""

    async def answer(request: Request) -> Response:
        receive = RepeatableReceive(request.receive)
        for _ in range(MOST_ATTEMPTS):
            try:
                return await _answer_once(endpoint, IndexedRequest(request.scope, receive))
            except StaleProjectError:
                receive.rewind()
            except LeftToOwnerError:
                receive.rewind()
                break
        request.state.left_to_owner = receive
        return NoResponse()

    return answer


async def _answer_once(endpoint: Endpoint, request: Request) -> Response:
    try:
        return await endpoint(request)
    except StaleProjectError:
        raise
    except Exception:
        # What came before the error is counted, and may be refused.
        if hasattr(request.state, "admission"):
            await request.state.admission.settle()
        raise


class RepeatableReceive:
    """The messages of a request, which can be read again from the first."""

    def __init__(self, receive: Receive) -> None:
        """Take them from the server."""
        self._receive = receive
        self._read: list[Message] = []
        self._next = 0

    async def __call__(self) -> Message:
        """Return the next message."""
        if self._next == len(self._read):
            self._read.append(await self._receive())
        self._next += 1
        return self._read[self._next - 1]

    def rewind(self) -> None:
        """Begin again."""
        self._next = 0
