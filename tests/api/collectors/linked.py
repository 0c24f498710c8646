"""A collector and its owner in one process, linked by a pair of sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

from fastapi.testclient import TestClient
from starlette.types import ASGIApp

from api.collectors.collector_app import CollectorApp, collector_services
from api.collectors.forwarded_requests import ForwardedRequests
from api.collectors.link import Link
from api.collectors.messages import BodyPart, ClientLeft, Message, PartSent, RequestHead
from api.collectors.owner_link import OwnerLink
from api.collectors.supervisor import CollectorLink
from api.services import Services
from pipeline.store.catalog.catalog import Catalog


def nothing() -> None:
    """Do nothing: the end of a link is the end of the test."""


@asynccontextmanager
async def linked(
    app: ASGIApp, services: Services, lost: Callable[[], None] = nothing
) -> AsyncIterator[CollectorApp]:
    """Yield the application of a collector with a catalog of its own."""
    ours, theirs = socket.socketpair()
    tasks = set[asyncio.Task[None]]()
    owners_end = CollectorLink(app, services, tasks)
    await asyncio.get_running_loop().create_unix_connection(lambda: owners_end.link, sock=ours)
    owner = OwnerLink(lost)
    await owner.connect(theirs)
    catalog = Catalog.open(services.settings)
    try:
        yield CollectorApp(collector_services(services.settings, catalog, owner))
    finally:
        catalog.close()
        owner.close()
        await owners_end.lost.wait()
        owners_end.link.close()


@contextmanager
def collector_of(client: TestClient) -> Iterator[CollectorApp]:
    """Yield a collector in the event loop of a client's application."""
    assert client.portal is not None
    app = client.app
    services: Services = app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
    with client.portal.wrap_async_context_manager(linked(app, services)) as collector:
        yield collector


@asynccontextmanager
async def forwarding_to(app: ASGIApp) -> AsyncIterator[tuple[OwnerLink, Link]]:
    """Yield a link to an owner that answers by an application, and the owner's end of it."""
    ours, theirs = socket.socketpair()

    def send(message: Message) -> None:
        end.send(message)

    requests = ForwardedRequests(app, set(), send)
    end = Link(partial(_pass_on, requests), requests.leave)
    await asyncio.get_running_loop().create_unix_connection(lambda: end, sock=ours)
    owner = OwnerLink(nothing)
    await owner.connect(theirs)
    try:
        yield owner, end
    finally:
        owner.close()
        end.close()


def _pass_on(requests: ForwardedRequests, message: Message) -> None:
    if isinstance(message, RequestHead):
        requests.begin(message)
    else:
        assert isinstance(message, BodyPart | ClientLeft | PartSent)
        requests.take(message)
