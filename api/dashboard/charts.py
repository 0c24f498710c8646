"""Charts of an experiment's results as Vega-Lite, drawn by the browser."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.chart_pictures import PICTURES, draw_picture
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
        picture = await draw_picture(specification, form)
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
