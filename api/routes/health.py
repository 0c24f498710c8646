"""Health: liveness and readiness."""

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
# What has to be readable before the service is ready.
CHECKS: Final[dict[str, Callable[[Services], None]]] = {
    "catalog": lambda services: services.catalog.ping(),
    "warehouse": lambda services: services.warehouse.ping(),
}


class Vitality(BaseModel):
    """The state of the service."""

    status: Literal["ok", "ready"]
    failing_jobs: list[str] = Field(
        default=[], description="Background jobs that failed the last time they ran."
    )


@router.get("/healthz", response_model_exclude_defaults=True)
async def check_liveness() -> Vitality:
    """Report that the process is alive."""
    return Vitality(status="ok")


@router.get("/readyz", responses=documented("unavailable"), response_model_exclude_defaults=True)
def check_readiness(services: ServicesDep) -> Vitality:
    """Report whether the catalog and the warehouse can be read."""
    failed = [name for name, check in CHECKS.items() if not _can_be_read(check, services, name)]
    if failed:
        message = f"not ready: {', '.join(failed)} cannot be read"
        raise ApiError("unavailable", message, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    # A failing job needs attention, but requests can still be answered.
    return Vitality(status="ready", failing_jobs=services.scheduler.failing)


def _can_be_read(check: Callable[[Services], None], services: Services, name: str) -> bool:
    try:
        check(services)
    except Exception:
        # Whatever the failure, the answer is that the service is not ready.
        logger.exception("the %s cannot be read", name)
        return False
    return True
