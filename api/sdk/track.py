"""How a request of events is answered: read one by one, stored together, and only then acknowledged."""

import time
from collections.abc import Callable
from typing import Final

import msgspec
from fastapi import Request, Response

from api.bodies.event_body import read_event_body
from api.sdk.access import (
    Browser,
    Server,
    address_of,
    client_of,
    project_of,
    sender_of,
)
from api.services import Services
from pipeline.assignment.project_cache import LiveProject
from pipeline.events.body import EventBody, read_body
from pipeline.events.decode import DecodedEvents, RequestContext
from pipeline.events.schema import EventResult
from pipeline.ingest import ROW_BYTES


class Answer(msgspec.Struct):
    """The answer of `EventResults`, quick to encode."""

    accepted: int
    rejected: int
    results: list[EventResult]


_encode: Final = msgspec.json.Encoder().encode


async def store_events(
    request: Request, read: Callable[[EventBody, RequestContext], DecodedEvents], *, single: bool = False
) -> Response:
    """Read the events, store the good ones, and say what became of each."""
    services: Services = request.app.state.services
    sender = await sender_of(request, services)
    body = read_body(await read_event_body(request), single=single)
    live = await project_of(
        request, sender, services, request.query_params.get("project_id") or body.project_id
    )
    found = read(body, _reception(request, sender, live))
    await services.ingest.submit(live.project.id, found.rows, body.size + ROW_BYTES * len(found.rows))
    answer = Answer(len(found.rows), found.rejected, found.results)
    return Response(_encode(answer), media_type="application/json")


def _reception(request: Request, sender: Browser | Server, live: LiveProject) -> RequestContext:
    return RequestContext(
        received_us=time.time_ns() // 1000,
        known=live.known,
        client=client_of(request, sender),
        is_excluded=live.excludes(address_of(request, sender)),
    )
