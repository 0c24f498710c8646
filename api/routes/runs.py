"""Runs of a project: list, get and start."""

from typing import Annotated

from fastapi import BackgroundTasks, Path, Query, Request

from api.bodies.json_body import JsonObject
from api.deps import (
    CatalogDep,
    Now,
    PageNumber,
    PerPage,
    ProjectOfReadableResults,
    ProjectOfWritableRuns,
    ProjectsWriter,
    ServicesDep,
    require_once,
)
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.inputs import RUN_INPUT
from api.schemas.runs import Run
from pipeline.requests.runs import read_run
from pipeline.store.catalog.runs.run_record import Kind, Status

router = router_at(
    PREFIX + "/projects/{project_id}/runs",
    tags=["Runs"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)


@router.get("", responses=documented("validation_error"))
def list_runs(
    request: Request,
    project: ProjectOfReadableResults,
    catalog: CatalogDep,
    kind: Annotated[Kind | None, Query(description="All kinds if absent.")] = None,
    status: Annotated[Status | None, Query(description="All statuses if absent.")] = None,
    page: PageNumber = 1,
    per_page: PerPage = 25,
) -> Listing[Run]:
    """List the runs of a project, newest first: of the schedule, of the API and of commands."""
    require_once(request, ("kind", "status"))
    found = catalog.runs.page(project.id, kind=kind, status=status, page=page, per_page=per_page)
    return Listing(
        data=[Run.of(run) for run in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post(
    "",
    status_code=202,
    responses=documented("idempotency_key_reused", *BODY_CODES),
    openapi_extra=taking(RUN_INPUT),
)
def start_run(
    caller: ProjectsWriter,
    project: ProjectOfWritableRuns,
    body: JsonObject,
    services: ServicesDep,
    now: Now,
    afterwards: BackgroundTasks,
) -> Single[Run]:
    """Queue a run, or return the one with the same `run_key`; ask `get_run` until it has ended."""
    run = services.catalog.runs.queue(read_run(project.id, body, now=now), actor=caller.actor)
    # The run is committed by then.
    afterwards.add_task(services.runner.wake, project.id)
    return Single(data=Run.of(run))


@router.get("/{id}")
def get_run(
    project: ProjectOfReadableResults, run_id: Annotated[str, Path(alias="id")], catalog: CatalogDep
) -> Single[Run]:
    """Get one run: its status, what it counted, drift and error."""
    return Single(data=Run.of(catalog.runs.get(project.id, run_id)))
