"""Charts of an experiment's results as Vega-Lite, drawn by the browser."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.chart_pictures import PICTURES, ChartPictures
from api.dashboard.computed_results import AskedResults, compute_results
from api.dashboard.page_answers import HEADERS, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from engine.analysis.results.report import Report
from engine.charts.forest import chart_improvements
from engine.charts.lift_over_time import chart_lift
from engine.charts.report import chart_rates
from engine.charts.themes import Theme

CHARTS: Final[Mapping[str, Callable[..., Any]]] = {
    "improvements": chart_improvements,
    "lift": chart_lift,
    "rates": chart_rates,
}
THEMES: Final[Mapping[str, Theme]] = {"light": "light", "dark": "dark"}


@signed_in
async def answer_chart(request: Request, session: SignedIn) -> Response:
    """Answer with the specification of a chart, or its picture; the same key and filters as the results."""
    parameters = request.path_params
    draw = CHARTS.get(parameters["chart"])
    theme = THEMES.get(parameters["theme"])
    if draw is None or theme is None or parameters["form"] not in {"json", *PICTURES}:
        raise PageError(404, "There is no such chart.")
    specification = await compute_results(
        request, session, partial(_specification, partial(draw, theme=theme))
    )
    form = parameters["form"]
    if form in PICTURES:
        pictures: ChartPictures = request.app.state.services.chart_pictures
        picture = await pictures.draw(parameters["experiment_id"], specification, form)
        name = f"{parameters['chart']}.{form}"
        headers = HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(picture, media_type=PICTURES[form], headers=headers)
    return Response(json.dumps(specification), media_type="application/json", headers=HEADERS)


def _specification(draw: Callable[[Report], Any], asked: AskedResults) -> dict[str, Any]:
    report = asked.report()
    try:
        specification: dict[str, Any] = draw(report).to_dict()
    except ValueError as error:
        # A goal whose days are not kept.
        raise PageError(404, str(error)) from error
    return specification
