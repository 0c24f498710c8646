"""Explanations for the debug panel of a page: names, rules and reasons, for the holder of a debug token."""

from datetime import datetime
from functools import partial
from typing import Any, Final, cast

import msgspec
from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from api.bodies.event_body import VISIT, read_event_body
from api.errors import ApiError
from api.sdk.access import CountBytes, SdkRequest, read_request
from api.sdk.admission import VisitServices
from api.sdk.init import decide_visit
from pipeline.assignment.explanations import OTHERS, explain
from pipeline.assignment.request import InitBody, decode_init
from pipeline.assignment.targeting_attributes import targeting_attributes
from pipeline.clock import utc_now
from pipeline.events.body import decode_leniently

REFUSED: Final = "this link is older than an hour, or no longer valid: open the page from the dashboard again"


class _Asked(msgspec.Struct, frozen=True):
    """A token, and the visit to explain; in the body, since addresses are logged."""

    token: str = ""
    visit: msgspec.Raw = msgspec.Raw(b"{}")
    project_id: str | None = None


_decode: Final = msgspec.json.Decoder(_Asked).decode
_encode: Final = msgspec.json.Encoder().encode


async def answer_debug(request: Request) -> Response:
    """Explain a visit to a page, and store nothing."""
    services: VisitServices = request.app.state.services
    received = await read_request(request, services, partial(_read, request))
    now = utc_now()
    project = received.cached.project
    grant = await run_in_threadpool(services.debug_tokens.read, received.body.token, project.id, now=now)
    if grant is None:
        raise ApiError("forbidden", REFUSED)
    body = decode_init(bytes(received.body.visit))
    visited = cast("SdkRequest[InitBody]", msgspec.structs.replace(received, body=cast("Any", body)))
    content = {
        "project": project.name,
        "dashboard": grant.dashboard,
        "experiments": await _explained(services, visited, now),
    }
    return Response(_encode(content), media_type="application/json", headers={"Cache-Control": "no-store"})


async def _explained(
    services: VisitServices, visited: SdkRequest[InitBody], now: datetime
) -> list[dict[str, Any]]:
    decided = await decide_visit(services, visited)
    visitor, decisions = decided.visitor, decided.decisions
    project = visited.cached.project
    attributes = targeting_attributes(visitor, timezone=project.timezone, now=now)

    def read_and_explain() -> list[dict[str, Any]]:
        others = services.catalog.experiments.of_project(project.id, OTHERS)
        return explain(visited.cached.experiments, others, decisions, attributes, visitor.url or "")

    return await run_in_threadpool(read_and_explain)


async def _read(request: Request, count_bytes: CountBytes) -> _Asked:
    body = await read_event_body(request, VISIT)
    count_bytes(len(body))
    asked: _Asked
    asked, _ = decode_leniently(_decode, body)
    return asked


ROUTES: Final = (Route("/api/v1/sdk/debug", answer_debug, methods=["POST"]),)
