"""Assignment of a visitor: variants are decided, new assignments stored, and then answered."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from api.bodies.event_body import VISIT, read_event_body
from api.off_loop import off_loop
from api.sdk.access import CountBytes, SdkRequest, read_request
from api.sdk.admission import VisitServices
from api.sdk.visit_answer import encode_answer
from engine.design.experiment import Experiment
from engine.design.holdout import HoldoutPlace, place_in
from engine.design.units import is_clustered
from pipeline.assignment.decide import AssignmentRequest, VariantDecision, decide, meets_any
from pipeline.assignment.first_assignments import KnownAssignments
from pipeline.assignment.link_index import UserClaim
from pipeline.assignment.project_cache import CachedProject
from pipeline.assignment.request import InitBody, decode_init
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes
from pipeline.assignment.visits import assignment_rows, has_news, holdout_exposure, visit_row
from pipeline.clock import utc_now, utc_now_us
from pipeline.events.attributes import InvalidAttributesError
from pipeline.events.body import InvalidBodyError, project_named_in
from pipeline.events.hashing import hash64
from pipeline.store.catalog.ids import new_id

# Deciding on experiments of more parts takes longer than a turn of the event loop may last.
MAX_ON_LOOP: Final = 1_000


async def answer_init(request: Request) -> Response:
    """Decide a visitor's variant in each experiment; store the first assignments, and its user."""
    services: VisitServices = request.app.state.services
    received = await read_request(request, services, partial(_read_visit, request))
    decided = await visit(services, received)
    visitor_id, url = decided.visitor.visitor_id, received.body.url
    encode = partial(encode_answer, received.cached, visitor_id, decided.decisions, url, decided.places)
    answer = encode() if _is_short(received) else await run_in_threadpool(encode)
    return Response(answer, media_type="application/json")


@dataclass(frozen=True, slots=True)
class DecidedVisit:
    """The decisions on a visit, with what they follow from."""

    visitor: Visitor
    known: KnownAssignments
    decisions: Sequence[VariantDecision]
    # In the holdouts in force.
    places: Sequence[HoldoutPlace]
    # Those of holdouts of which a test or a rollout is for the visitor on this page, whatever a holdout says.
    met: Sequence[HoldoutPlace]


async def visit(
    services: VisitServices, received: SdkRequest[InitBody], *, only: str | None = None
) -> DecidedVisit:
    """Decide on the experiments of a visit and store what is new of it.

    `only` is the test key of the one experiment that is asked for. InvalidBodyError.
    """
    decided = await decide_visit(services, received, only=only)
    if not received.is_excluded and received.missing_consent is None:
        await _store(services, received, decided)
    await services.snippet_verification.see(received.cached, received.page)
    return decided


async def decide_visit(
    services: VisitServices, received: SdkRequest[InitBody], *, only: str | None = None
) -> DecidedVisit:
    """Decide on the experiments of a visit, as `visit` does, and store nothing; InvalidBodyError."""
    body = received.body
    visitor = Visitor(
        visitor_id=body.visitor_id or new_id("vis"),
        user_id=body.user_id,
        url=body.url,
        attributes=body.attributes or {},
        client=received.client,
        city=received.city,
    )
    await _prepare(services, received.cached)
    decided = await _decided(services, received)
    experiments = [one for one in decided if only is None or one.test_key == only]
    if _is_short(received):
        return _decide(services, received, visitor, experiments)
    return await run_in_threadpool(_decide, services, received, visitor, experiments)


def _is_short(received: SdkRequest[InitBody]) -> bool:
    # A forced variant may be of an experiment of any size.
    return received.cached.parts <= MAX_ON_LOOP and not received.body.assignments


async def _decided(services: VisitServices, received: SdkRequest[InitBody]) -> Sequence[Experiment]:
    """List the experiments to decide on, oldest first: those that assign, are rolled out, or are forced."""
    cached, forced = received.cached, received.body.assignments
    shown = (*cached.experiments, *cached.rollouts)
    if not forced or not cached.unserved:
        return shown
    others = await run_in_threadpool(cached.forced_before_start, forced.keys(), services.catalog)
    return sorted((*shown, *others), key=lambda one: (one.created_at, one.id))


async def _prepare(services: VisitServices, cached: CachedProject) -> None:
    """Wait until the project's first assignments are in memory, as after a start, and hold no thread."""
    known, project_id = services.first_assignments, cached.project.id
    while not known.is_ready(project_id, cached.rules):
        # Others wait for the same read, which does not end with this request.
        await asyncio.shield(asyncio.wrap_future(known.prepare(project_id, cached.rules)))


async def _read_visit(request: Request, count_bytes: CountBytes) -> InitBody:
    body = await read_event_body(request, VISIT)
    count_bytes(len(body))
    try:
        return await off_loop(len(body), decode_init, body)
    except InvalidBodyError as error:
        error.project_id = project_named_in(body)
        raise


async def _store(services: VisitServices, received: SdkRequest[InitBody], decided: DecidedVisit) -> None:
    """Store new assignments, or else attributes that may belong to a later exposure; nothing of a bot.

    The first visit for which there is a test or a rollout that a holdout covers is the exposure to it, in
    both of its arms.
    """
    project_id, visits = received.cached.project.id, services.stored_visits
    visit = visit_row(decided.visitor, utc_now_us(), received.sender, received.address_key)
    if visit is None:
        return
    rows = assignment_rows(visit, decided.decisions, decided.known)
    exposures = (holdout_exposure(visit, place) for place in decided.met)
    rows += [one for one in exposures if one is not None]
    is_news = received.cached.has_open_experiments and has_news(visit) and not visits.holds(project_id, visit)
    if not rows and (is_news or not decided.known.is_linked):
        rows = [visit]
    if received.sender == "browser":
        services.quotas.count_events(project_id, received.address_key, len(rows))
    await services.ingest.submit(project_id, rows)
    if rows:
        visits.add(project_id, visit)


def _decide(
    services: VisitServices,
    received: SdkRequest[InitBody],
    visitor: Visitor,
    experiments: Iterable[Experiment],
) -> DecidedVisit:
    cached = received.cached
    claim = None
    if visitor.user_id is not None:
        claim = UserClaim(hash64(visitor.user_id), is_trusted=received.sender == "server")
    visitor_key = hash64(visitor.visitor_id)
    try:
        attributes = targeting_attributes(visitor, timezone=cached.project.timezone, now=utc_now())
    except InvalidAttributesError as error:
        raise InvalidBodyError("attributes", str(error)) from error
    forced = received.body.assignments or {}
    # Everybody has the public key.
    hides_drafts = received.sender == "browser"
    asked = AssignmentRequest(
        visitor=visitor, attributes=attributes, forced=forced, hides_drafts=hides_drafts
    )
    known = services.first_assignments.of_visitor(
        cached.project.id, cached.rules, visitor_key, claim, units=_units(asked, experiments)
    )
    places = [place_in(one, visitor.visitor_id, known.variant_ids.get(one.id)) for one in cached.holdouts]
    decisions = decide(
        asked,
        experiments,
        cached.targeting_of,
        known.variant_ids,
        known.inherited,
        places=places,
    )
    met = [place for place in places if meets_any(asked, experiments, cached.targeting_of, place.holdout)]
    return DecidedVisit(visitor, known, decisions, places, met)


def _units(asked: AssignmentRequest, experiments: Iterable[Experiment]) -> dict[str, int]:
    """Map the experiments that assign other units than visitors to the keys of those of the visitor."""
    assigning = (one for one in experiments if is_clustered(one.unit) and one.shipped is None)
    ids = {one.id: asked.unit_id(one) for one in assigning}
    return {experiment_id: hash64(unit) for experiment_id, unit in ids.items() if unit is not None}
