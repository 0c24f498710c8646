"""Tools: calculations that change nothing."""

from api.bodies.json_body import JsonObject
from api.deps import CapabilitiesReader
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Single
from api.schemas.inputs import SAMPLE_SIZE_INPUT
from api.schemas.tools import SampleSize
from engine.design.planning.calculator import answer, read_question

router = router_at(
    PREFIX + "/tools", tags=["Tools"], route_class=IdempotentRoute, responses=documented(*KEY_CODES)
)


@router.post("/sample_size", responses=documented(*BODY_CODES), openapi_extra=taking(SAMPLE_SIZE_INPUT))
def compute_sample_size(_: CapabilitiesReader, body: JsonObject) -> Single[SampleSize]:
    """Compute the visitors and days that a test needs, or the effect that it detects with given visitors."""
    return Single(data=SampleSize.of(answer(read_question(body))))
