"""Whether the process is alive, and whether it can serve."""

import logging
from collections.abc import Callable
from typing import Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.errors import RETRY_AFTER_SECONDS, ApiError, documented
from api.services import Services

logger = logging.getLogger(__name__)
router = APIRouter(tags=["Health"])
# What has to answer before the service can.
CHECKS: Final[dict[str, Callable[[Services], None]]] = {
    "catalog": lambda services: services.catalog.ping(),
    "warehouse": lambda services: services.warehouse.ping(),
}


class Vitality(BaseModel):
    """That all is well."""

    status: Literal["ok", "ready"]
    failing_jobs: list[str] = Field(
        default=[], description="Work that goes on by itself, and failed the last time it was tried."
    )


@router.get("/healthz", response_model_exclude_defaults=True)
async def check_liveness() -> Vitality:
    """Answer as long as the process does."""
    return Vitality(status="ok")


@router.get("/readyz", responses=documented("unavailable"), response_model_exclude_defaults=True)
def check_readiness(services: ServicesDep) -> Vitality:
    """Answer once the catalog and the warehouse do."""
    failed = [name for name, check in CHECKS.items() if not _answers(check, services, name)]
    if failed:
        message = f"not ready: {', '.join(failed)} cannot be read"
        raise ApiError("unavailable", message, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    # A job that fails is somebody's work, and no reason to keep requests away.
    return Vitality(status="ready", failing_jobs=services.scheduler.failing)


def _answers(check: Callable[[Services], None], services: Services, name: str) -> bool:
    try:
        check(services)
    except Exception:
        # Whatever it is, the service cannot serve: say so rather than fail.
        logger.exception("the %s does not answer", name)
        return False
    return True
