"""Reports of experiments that the running service writes for the command `report`."""

from base64 import b64encode

import msgspec
from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from api.bodies.json_body import json_object
from api.errors import ApiError
from api.operator.operator_access import require_operator
from api.report_files import content_by_another_process
from api.report_formats import Format
from api.services import Services
from engine.typed_records import record_of
from pipeline.clock import utc_now
from pipeline.results.reports_by_id import report_of_experiment


class ReportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment of any account, and the format of the file."""

    experiment_id: str
    format: Format = "html"


async def create_report(request: Request) -> JSONResponse:
    """Answer with the report of an experiment as the content of a file, in base64."""
    require_operator(request)
    body = await json_object(request)
    try:
        wanted = record_of(body, ReportRequest)
    except msgspec.ValidationError as error:
        raise ApiError("invalid_request", f"the request is not one for a report: {error}") from error
    content = await run_in_threadpool(_content, request.app.state.services, wanted)
    return JSONResponse({"data": {"content": b64encode(content).decode()}})


def _content(services: Services, wanted: ReportRequest) -> bytes:
    report = report_of_experiment(services.catalog, services.results, wanted.experiment_id, now=utc_now())
    return content_by_another_process(report, wanted.format)
