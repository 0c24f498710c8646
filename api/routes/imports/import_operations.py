"""Imports of a project: files that are sent, and described sources."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import BackgroundTasks, Query

from api.bodies.reader import SUFFIXES
from api.deps import Now, ProjectOfWritableRuns, ProjectsWriter, ServicesDep
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.routes.imports.import_body import ImportBody, ImportBodyDep
from api.routes.imports.import_query import ImportQuery
from api.schemas.envelopes import Single
from api.schemas.inputs import IMPORT_INPUT
from api.schemas.runs import Run
from engine.errors import InvalidDesignError, Problem
from pipeline.imports.import_requests import file_import, source_import
from pipeline.runs.described_sources import with_origin
from pipeline.store.catalog.runs.run_record import Run as RunRecord

router = router_at(
    PREFIX + "/projects/{project_id}/imports",
    tags=["Runs"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
_ROWS = "visitor,page,ordered\nv1,Three steps,0\nv2,One page,1\nv3,Three steps,1\nv4,One page,1\n"


def _body() -> dict[str, Any]:
    """Describe the body: the JSON object of a source, or a file."""
    body = taking(IMPORT_INPUT)
    file = {"schema": {"type": "string", "format": "binary"}}
    body["requestBody"]["content"] |= dict.fromkeys(SUFFIXES, file)
    body["requestBody"]["content"]["text/csv"] = file | {"example": _ROWS}
    return body


@router.post(
    "",
    status_code=202,
    responses=documented("idempotency_key_reused", "unavailable", *BODY_CODES),
    openapi_extra=_body(),
)
def start_import(
    caller: ProjectsWriter,
    project: ProjectOfWritableRuns,
    body: ImportBodyDep,
    asked: Annotated[ImportQuery, Query()],
    services: ServicesDep,
    now: Now,
    afterwards: BackgroundTasks,
) -> Single[Run]:
    """Queue the import of a file that is sent, or of a described source; ask `get_run` until it has ended."""
    run = _asked_run(project.id, body, asked, now=now)
    if body.upload is None:
        run = with_origin(services, project, run)
    else:
        body.upload.place(run.id, body.suffix)
    queued = services.catalog.runs.queue(run, actor=caller.actor)
    if body.upload is not None and queued is run:
        body.upload.keep()
    # The run is committed by then.
    afterwards.add_task(services.runner.wake, project.id)
    return Single(data=Run.of(queued))


def _asked_run(project_id: str, body: ImportBody, asked: ImportQuery, *, now: datetime) -> RunRecord:
    """Build the run; InvalidDesignError where a source comes with the meaning of a file."""
    sent, key, trigger = body.sent, asked.run_key, asked.trigger
    if sent is not None:
        return file_import(project_id, asked.options, sent, run_key=key, trigger=trigger, now=now)
    if asked.given_for_files:
        raise InvalidDesignError(
            [Problem(name, "is for a file that is sent") for name in asked.given_for_files]
        )
    return source_import(project_id, body.fields, run_key=key, trigger=trigger, now=now)
