"""Application of a collector: answers requests with events, and passes every other one on to the owner."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request, Response
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import Message, Receive, Scope, Send

from api.bodies.slices import Turns
from api.collectors.forwarding import forward
from api.collectors.owner_link import OwnerLink
from api.collectors.remote_admission import RemoteAdmission, StaleProjectError
from api.middleware.outer_middleware import outer_middleware
from api.sdk.endpoints import Endpoint, SdkEndpoints
from api.sdk.indexed_request import IndexedRequest
from api.sdk.track import answer_conversions, answer_events
from pipeline.assignment.project_cache import ProjectCache
from pipeline.encryption_key import derive_secret
from pipeline.events.address_keys import AddressKey, address_keys
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog

ENDPOINTS: Final[dict[str, Endpoint]] = {
    "/api/v1/sdk/track": answer_events,
    "/api/v1/sdk/convert": answer_conversions,
}
_RAW_PATHS: Final = frozenset(path.encode() for path in ENDPOINTS)


@dataclass(frozen=True, slots=True)
class CollectorServices:
    """Everything a request with events may need."""

    settings: Settings
    catalog: Catalog
    project_cache: ProjectCache
    address_key: AddressKey
    turns: Turns
    owner: OwnerLink

    def admission(self, request: Request) -> RemoteAdmission:
        """Begin the admission of a request, for which `settled` answers."""
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
        owner=owner,
    )


class CollectorApp:
    """ASGI application: the same middleware and endpoints as the owner's for requests with events."""

    def __init__(self, services: CollectorServices) -> None:
        """Answer with the services of a collector."""
        self._owner = services.owner
        router = APIRouter()
        for path, endpoint in ENDPOINTS.items():
            router.add_api_route(path, settled(endpoint), methods=["POST"], response_model=None)
        middleware = [*outer_middleware(services.settings), Middleware(SdkEndpoints, routes=router.routes)]
        self._events = Starlette(middleware=middleware)
        self._events.state.services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        # A path that is written in another way is the owner's to read.
        if scope["method"] == "POST" and scope.get("raw_path") in _RAW_PATHS:
            await self._events(scope, receive, send)
        else:
            await forward(self._owner, scope, receive, send)


def settled(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Answer by an endpoint, again where its project was changed, and raise refusals of the owner first."""

    async def answer(request: Request) -> Response:
        receive = RepeatableReceive(request.receive)
        while True:
            try:
                return await _answer_once(endpoint, IndexedRequest(request.scope, receive))
            except StaleProjectError:
                receive.rewind()

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
        self._place = 0

    async def __call__(self) -> Message:
        """Return the next message."""
        if self._place == len(self._read):
            self._read.append(await self._receive())
        self._place += 1
        return self._read[self._place - 1]

    def rewind(self) -> None:
        """Begin again."""
        self._place = 0
