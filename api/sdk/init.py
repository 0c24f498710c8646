"""How a request for a visitor's variants is answered: decided, stored so that it stays, then told."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from api.bodies.event_body import read_event_body
from api.schemas.sdk import VisitAnswer
from api.sdk.access import (
    Browser,
    address_of,
    client_of,
    project_of,
    sender_of,
)
from api.services import Services
from pipeline.assignment.decide import (
    SERVED,
    AssignmentRequest,
    VariantDecision,
    assignment_rows,
    decide,
)
from pipeline.assignment.project_cache import LiveProject, is_own_page, verified
from pipeline.assignment.request import VisitBody, read_visit
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes
from pipeline.events.attributes import InvalidAttributesError
from pipeline.events.body import InvalidBodyError
from pipeline.events.hashing import hash64
from pipeline.store.catalog.ids import new_id


async def answer_init(request: Request) -> VisitAnswer:
    """Decide what a visitor sees in each experiment, and keep what is decided for the first time."""
    services: Services = request.app.state.services
    sender = await sender_of(request, services)
    body = read_visit(await read_event_body(request))
    live = await project_of(
        request, sender, services, request.query_params.get("project_id") or body.project_id
    )
    visitor = Visitor(
        visitor_id=body.visitor_id or new_id("vis"),
        user_id=body.user_id,
        url=body.url,
        attributes=body.attributes or {},
        client=client_of(request, sender),
    )
    shown = await run_in_threadpool(_decide, services, live, visitor, body)
    rows = assignment_rows(visitor, shown, time.time_ns() // 1000)
    if not live.excludes(address_of(request, sender)):
        await services.ingest.submit(live.project.id, rows)
    if isinstance(sender, Browser):
        await _note_snippet(services, live, request.headers.get("origin"))
    return VisitAnswer.of(visitor.visitor_id, shown)


def _decide(
    services: Services, live: LiveProject, visitor: Visitor, body: VisitBody
) -> Sequence[VariantDecision]:
    served = [experiment for experiment in live.experiments if experiment.status in SERVED]
    stored = services.assignments.of_visitor(live.project.id, served, hash64(visitor.visitor_id))
    try:
        known = targeting_attributes(visitor, timezone=live.project.timezone, now=datetime.now(UTC))
    except InvalidAttributesError as error:
        raise InvalidBodyError("attributes", str(error)) from error
    visit = AssignmentRequest(visitor=visitor, attributes=known, forced=body.assignments or {})
    return decide(visit, live.experiments, stored)


async def _note_snippet(services: Services, live: LiveProject, origin: str | None) -> None:
    project = live.project
    if project.snippet_verified or not is_own_page(project, origin):
        return
    decide = partial(verified, now=datetime.now(UTC))
    await run_in_threadpool(
        services.catalog.projects.change, project.account_id, project.id, decide, actor="snippet"
    )
