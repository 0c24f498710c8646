"""Health: liveness and readiness."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, Literal

from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.errors import RETRY_AFTER_SECONDS, ApiError, documented
from api.routers import router_at
from api.services import Services

router = router_at("", tags=["Health"])
# Reopening the warehouse takes seconds; after so long a restart is the better attempt.
GIVEN_UP_AFTER_SECONDS: Final = 60
CHECK_SECONDS: Final = 3.0
# What has to be readable before the service is ready.
CHECKS: Final[dict[str, Callable[[Services], None]]] = {
    "catalog": lambda services: services.catalog.ping(),
    "warehouse": lambda services: services.warehouse.ping(),
    "lock": lambda services: services.lock.require_files(),
}


class Vitality(BaseModel):
    """The state of the service."""

    status: Literal["ok", "ready"]
    failing_jobs: list[str] = Field(
        default=[], description="Background jobs that failed the last time they ran.", examples=[["rollup"]]
    )


@router.get("/healthz", responses=documented("unavailable"), response_model_exclude_defaults=True)
async def check_liveness(services: ServicesDep) -> Vitality:
    """Report that the process is alive, and needs no restart."""
    if services.warehouse.lost_seconds > GIVEN_UP_AFTER_SECONDS:
        raise _unavailable("the warehouse cannot be opened again; restart the service")
    return Vitality(status="ok")


@router.get("/readyz", responses=documented("unavailable"), response_model_exclude_defaults=True)
async def check_readiness(services: ServicesDep) -> Vitality:
    """Report whether the catalog and the warehouse can be read."""
    passed = await asyncio.gather(
        *(
            services.checks.passes(name, partial(check, services), CHECK_SECONDS)
            for name, check in CHECKS.items()
        )
    )
    failed = [name for name, has_passed in zip(CHECKS, passed, strict=True) if not has_passed]
    if failed:
        raise _unavailable(f"not ready: {', '.join(failed)} cannot be read")
    # A failing job needs attention, but requests can still be answered.
    return Vitality(status="ready", failing_jobs=services.scheduler.failing)


def _unavailable(message: str) -> ApiError:
    return ApiError("unavailable", message, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
