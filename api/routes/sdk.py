"""SDK: events and assignments, from browsers and from servers with the scope `sdk:write`.

`SdkEndpoints` calls these endpoints with the bare request, before the framework; their routes describe them.
"""

from typing import Final

from fastapi import Request, Response

from api.errors import BODY_CODES, KEY_CODES, documented
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.schemas.inputs import CONVERSION_BATCH, TRACK_BATCH, VISIT
from api.schemas.sdk import EventResults, VisitAnswer
from api.sdk.access import OPEN_TO_BROWSERS
from api.sdk.config_answer import CONFIG_PARAMETERS, CONFIG_RESPONSES, answer_config
from api.sdk.init import answer_init
from api.sdk.track import answer_conversions, answer_events

ROUTER_RESPONSES: Final = documented(*KEY_CODES, "not_found", *BODY_CODES, "unavailable")
router: Final = router_at(PREFIX + "/sdk", tags=["SDK"], responses=ROUTER_RESPONSES)


@router.post(
    "/track", responses={200: {"model": EventResults}}, openapi_extra=taking(TRACK_BATCH) | OPEN_TO_BROWSERS
)
async def track_events(request: Request) -> Response:
    """Store exposures and events: answered once they are on disk. An invalid event is rejected alone."""
    return await answer_events(request)


@router.post(
    "/convert",
    responses={200: {"model": EventResults}},
    openapi_extra=taking(CONVERSION_BATCH) | OPEN_TO_BROWSERS,
)
async def track_conversions(request: Request) -> Response:
    """Store conversions, orders and refunds, one or a batch: answered once they are on disk."""
    return await answer_conversions(request)


@router.get("/config", responses=CONFIG_RESPONSES, openapi_extra=OPEN_TO_BROWSERS | CONFIG_PARAMETERS)
async def get_sdk_config(request: Request) -> Response:
    """Get what assigns visitors of the running and paused experiments, for SDKs that decide themselves."""
    return await answer_config(request)


@router.post("/init", responses={200: {"model": VisitAnswer}}, openapi_extra=taking(VISIT) | OPEN_TO_BROWSERS)
async def assign_visitor(request: Request) -> Response:
    """Say which variants a visitor sees. The first assignment stays; an exposure is what counts."""
    return await answer_init(request)
