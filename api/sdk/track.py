"""Tracking: decode the events of a request, store them, and acknowledge them once they are on disk."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Final

import msgspec
from fastapi import Request, Response

from api.bodies.event_body import EVENTS, read_event_body
from api.off_loop import off_loop
from api.sdk.access import CountBytes, read_request
from api.sdk.admission import Browser, SdkServices
from pipeline.assignment.exposure_filter import find_excluded
from pipeline.clock import utc_now_us
from pipeline.events.body import EventBody, InvalidBodyError, divided, project_named_in, read_in_slices
from pipeline.events.browser_money import BrowserMoney
from pipeline.events.decode import DecodedEvents, RequestContext, decode_conversions, decode_tracked
from pipeline.events.rejections import EventResult, without_consent
from pipeline.ingest.spooled_events import ROW_BYTES

Decode = Callable[[EventBody, RequestContext], DecodedEvents]


class JsonAnswer(Response):
    """An answer of JSON, whose headers are always the same but for its length."""

    def __init__(self, body: bytes) -> None:
        self.status_code = 200
        self.background = None
        self.body = body
        self.raw_headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]


class Answer(msgspec.Struct):
    """The answer that the schema `EventResults` describes, fast to encode."""

    accepted: int
    rejected: int
    results: list[EventResult]


_encode: Final = msgspec.json.Encoder().encode


async def answer_events(request: Request) -> Response:
    """Store exposures and events."""
    return await store_events(request, decode_tracked)


async def answer_conversions(request: Request) -> Response:
    """Store conversions, orders and refunds, one or a batch."""
    return await store_events(request, decode_conversions, single=True)


async def store_events(request: Request, decode: Decode, *, single: bool = False) -> Response:
    """Store the valid events of a request, and answer with a result for each event.

    With `single`, an object without `batch` is itself the one event.
    """
    services: SdkServices = request.app.state.services
    received = await read_request(request, services, partial(_read_events, request, services, single=single))
    admission, project = received.admission, received.cached.project
    is_browser = received.sender == "browser"
    if is_browser:
        browser = Browser(project.id, received.address_key)
        admission.count_events(browser, len(received.body.events))
    context = RequestContext(
        received_us=utc_now_us(),
        project_ids=received.cached.ids,
        sender=received.sender,
        client=received.client,
        is_excluded=received.is_excluded,
        address_key=received.address_key,
        browser_money=(
            BrowserMoney.of(project, services.settings.browser_amount_limit) if is_browser else None
        ),
    )
    events = await services.turns.run(_decode_in_slices(decode, received.body, context))
    if received.missing_consent is not None:
        stored, results = DecodedEvents([], []), without_consent(events.results, received.missing_consent)
    elif found := find_excluded(events, received.cached):
        stored = await admission.mark_not_counted(events, found, received.cached)
        results = stored.results
    else:
        stored, results = events, events.results
    await admission.store(project.id, stored, received.body.size + ROW_BYTES * len(stored.rows))
    await services.snippet_verification.see(received.cached, received.page)
    answer = Answer(len(events.rows), events.rejected, results)
    return JsonAnswer(_encode(answer))


async def _read_events(
    request: Request, services: SdkServices, count_bytes: CountBytes, *, single: bool
) -> EventBody:
    body = await read_event_body(request, EVENTS)
    count_bytes(len(body))
    try:
        return await services.turns.run(read_in_slices(body, single=single))
    except InvalidBodyError as error:
        error.project_id = await off_loop(len(body), project_named_in, body)
        raise


def _decode_in_slices(
    decode: Decode, body: EventBody, context: RequestContext
) -> Generator[None, None, DecodedEvents]:
    """Decode the events of a body, pausing before each slice of a larger one."""
    parts = divided(body)
    if len(parts) == 1:
        return decode(body, context)
    events = DecodedEvents([], [])
    for part in parts:
        yield
        decoded = decode(part, context)
        events.rows.extend(decoded.rows)
        events.results.extend(decoded.results)
    return events
