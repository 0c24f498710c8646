"""Sums of experiments that were counted outside: what is published, and the one way in."""

from collections.abc import AsyncIterator
from contextlib import closing
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from api.bodies.reader import content_encoding_of, media_type_of
from api.deps import (
    CatalogDep,
    Now,
    ProjectOfWritableRuns,
    ProjectsWriter,
    ServicesDep,
    SumsOfReadableExperiment,
    SumsOfWritableExperiment,
)
from api.errors import KEY_CODES, ApiError, documented
from api.idempotency.route import IdempotentRoute
from api.routers import PREFIX, router_at
from api.routes.exports import MEDIA_TYPES
from api.routes.imports.import_body import begin_upload, receive
from api.schemas.envelopes import Single
from api.schemas.experiment_sums import Sums, SumsChange
from api.schemas.query_times import QueryTime
from pipeline.results.outside.outside_sums import OutsideSums
from pipeline.results.outside.publish_sums import fingerprint_to_count_by, publish_sums
from pipeline.results.outside.sums_file import MOST_BYTES, read_table
from pipeline.runs.uploads import Upload, UploadLimit

_LIMIT: Final = UploadLimit(MOST_BYTES, "sums are of one experiment: split them by fewer dimensions")
_REFUSALS: Final = (
    *("counted_here", "experiment_locked", "invalid_transition", "needs_visitors", "older_sums"),
    "rules_changed",
)
router = router_at(
    PREFIX + "/projects/{project_id}/experiments/{id}/sums",
    tags=["Runs"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)


class SumsQuery(BaseModel):
    """Where sums come from, and what they count."""

    model_config = ConfigDict(extra="forbid")

    source: str = Field(
        min_length=1, max_length=255, description="Who counted them, as results name it: `Spark on nightly`."
    )
    fingerprint: str = Field(
        min_length=1, max_length=64, description="Of the counting rules, as `get_sums` has it."
    )
    watermark: QueryTime = Field(description="Time up to which every event is counted, RFC 3339.")
    last_exposed_at: QueryTime | None = Field(None, description="Time of the newest first exposure.")
    take_over: bool = Field(
        default=False,
        description="Take the place of what this service has counted from its own events, for good.",
    )


async def sums_body(
    request: Request, project: ProjectOfWritableRuns, services: ServicesDep
) -> AsyncIterator[Upload]:
    """Receive a file of sums, which is gone after the request; ApiError."""
    parquet = MEDIA_TYPES["parquet"]
    if media_type_of(request, default=parquet) != parquet or content_encoding_of(request) != "identity":
        raise ApiError("unsupported_media_type", f"send {parquet}, as it is, without an encoding")
    with closing(await run_in_threadpool(begin_upload, services, project, _LIMIT)) as upload:
        await receive(request, upload)
        yield upload


def _body() -> dict[str, Any]:
    file = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": {MEDIA_TYPES["parquet"]: file}}}


@router.get("")
def get_sums(
    experiment: SumsOfReadableExperiment, services: ServicesDep, catalog: CatalogDep
) -> Single[Sums]:
    """Get what is published of an experiment, and the fingerprint of the rules to count it by."""
    project = catalog.projects.find(experiment.project_id)
    record = services.rollup.publications.find(experiment.id)
    return Single(data=Sums.of(experiment.id, fingerprint_to_count_by(experiment, project, record), record))


@router.post(
    "",
    responses=documented(
        *(
            "invalid_request",
            "payload_too_large",
            "unsupported_media_type",
            "validation_error",
            "unavailable",
        ),
        *_REFUSALS,
    ),
    openapi_extra=_body(),
)
def hand_in_sums(
    caller: ProjectsWriter,
    project: ProjectOfWritableRuns,
    experiment: SumsOfWritableExperiment,
    asked: Annotated[SumsQuery, Query()],
    body: Annotated[Upload, Depends(sums_body)],
    services: ServicesDep,
    now: Now,
) -> Single[SumsChange]:
    """Replace the sums of an experiment, all at once, by those that were counted outside."""
    sums = OutsideSums.of_table(read_table(body.path), **asked.model_dump(exclude={"take_over"}))
    services.warehouse.require_space()
    published = publish_sums(
        services, project, experiment.id, sums, actor=caller.actor, now=now, takes_over=asked.take_over
    )
    record = published.record
    found = Sums.of(experiment.id, record.fingerprint, record)
    return Single(data=SumsChange(**found.model_dump(), is_changed=published.is_changed))
