"""Exports: the counted visitors of an experiment, as a file."""

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, BinaryIO, Final

from fastapi import Query
from fastapi.responses import StreamingResponse

from api.deps import ExperimentOfReadableResults, ProjectOfReadableResults, ResultsReader, ServicesDep
from api.errors import KEY_CODES, documented
from api.results.threads import on_results_threads
from api.routers import PREFIX, router_at
from api.schemas.segment_filters import ExportQuery
from pipeline.clock import utc_now
from pipeline.store.warehouse.visitor_export import Form

MEDIA_TYPES: Final[Mapping[Form, str]] = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
}
FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The file.",
        "content": {
            media_type: {"schema": {"type": "string", "format": "binary"}}
            for media_type in MEDIA_TYPES.values()
        },
    }
}
CHUNK_BYTES: Final = 2**20
router = router_at(
    PREFIX + "/projects/{project_id}/experiments/{id}/results",
    tags=["Results"],
    responses=documented(*KEY_CODES, "not_found", "validation_error", "unavailable", "needs_visitors"),
)


@router.get("/export", response_class=StreamingResponse, responses=FILE)
@on_results_threads
def export_results(
    caller: ResultsReader,
    project: ProjectOfReadableResults,
    experiment: ExperimentOfReadableResults,
    query: Annotated[ExportQuery, Query()],
    services: ServicesDep,
) -> StreamingResponse:
    """Export every counted visitor: variant, first exposure, segments, and the outcome of each goal."""
    file = services.exports.visitors(experiment, project, query.filters, query.format, now=utc_now())
    exported = {"exported": [None, query.format]}
    services.catalog.audit.add(project.account_id, caller.actor, experiment.id, exported)
    headers = {
        "Content-Length": str(os.fstat(file.fileno()).st_size),
        "Content-Disposition": f'attachment; filename="{experiment.test_key}.{query.format}"',
    }
    return StreamingResponse(_chunks(file), media_type=MEDIA_TYPES[query.format], headers=headers)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
