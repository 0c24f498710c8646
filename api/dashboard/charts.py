"""Charts of an experiment's results as Vega-Lite, drawn by the browser."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

from anyio import CapacityLimiter, to_thread
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.experiments import address_of
from api.dashboard.filter_form import asked_filters
from api.dashboard.operations import read
from api.dashboard.page_answers import HEADERS, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from api.schemas.segment_filters import ResultsQuery
from api.services import Services
from engine.analysis.results.report import Report
from engine.charts.forest import chart_improvements
from engine.charts.lift_over_time import chart_lift
from engine.charts.report import chart_rates
from engine.charts.themes import Theme
from pipeline.clock import utc_now

CHARTS: Final[Mapping[str, Callable[..., Any]]] = {
    "improvements": chart_improvements,
    "lift": chart_lift,
    "rates": chart_rates,
}
THEMES: Final[Mapping[str, Theme]] = {"light": "light", "dark": "dark"}
PICTURES: Final = {"svg": "image/svg+xml", "png": "image/png"}
# In a process of its own: the JavaScript engine takes memory that a service does not give back.
_PROGRAM: Final = """
import json, sys
from types import SimpleNamespace
from engine.charts import pictures
specification = json.load(sys.stdin)
chart = SimpleNamespace(to_dict=lambda: specification)
drawn = getattr(pictures, f"chart_{sys.argv[1]}")(chart)
sys.stdout.buffer.write(drawn if isinstance(drawn, bytes) else drawn.encode())
"""
_PICTURE_SECONDS: Final = 60


@signed_in
async def answer_chart(request: Request, session: SignedIn) -> Response:
    """Answer with the specification of a chart; the same key and filters as the results."""
    parameters = request.path_params
    draw = CHARTS.get(parameters["chart"])
    theme = THEMES.get(parameters["theme"])
    if draw is None or theme is None or parameters["form"] not in {"json", *PICTURES}:
        raise PageError(404, "There is no such chart.")
    # Refuses what the key does not reach, and filters that are not valid.
    asked = asked_filters(request)
    await read(request, session, f"{address_of(request)}/results/summary", asked)
    specification = await run_in_threadpool(_specification, request, partial(draw, theme=theme), asked)
    form = parameters["form"]
    if form in PICTURES:
        picture = await to_thread.run_sync(_picture, specification, form, limiter=_limiter())
        name = f"{parameters['chart']}.{form}"
        headers = HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(picture, media_type=PICTURES[form], headers=headers)
    return Response(json.dumps(specification), media_type="application/json", headers=HEADERS)


def _specification(
    request: Request, draw: Callable[[Report], Any], asked: Mapping[str, str]
) -> dict[str, Any]:
    services: Services = request.app.state.services
    experiment = services.catalog.experiments.get(
        request.path_params["project_id"], request.path_params["experiment_id"]
    )
    project = services.catalog.projects.find(experiment.project_id)
    try:
        query = ResultsQuery.model_validate(asked)
    except (ValidationError, RequestValidationError) as error:
        raise PageError(422, "These filters are not valid.") from error
    report = services.nights.report(experiment, project, query.filters, night=query.night, now=utc_now())
    try:
        specification: dict[str, Any] = draw(report).to_dict()
    except ValueError as error:
        # A goal whose days are not kept.
        raise PageError(404, str(error)) from error
    return specification


@cache
def _limiter() -> CapacityLimiter:
    """Return the limit of one picture at a time, as each takes a process."""
    return CapacityLimiter(1)


def _picture(specification: Mapping[str, Any], form: str) -> bytes:
    drawn = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", "-c", _PROGRAM, form],
        input=json.dumps(specification).encode(),
        capture_output=True,
        check=True,
        timeout=_PICTURE_SECONDS,
    )
    return drawn.stdout
