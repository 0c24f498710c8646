"""Pages of an experiment: its results, its settings, and the steps of its life."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.computed_results import AskedResults, compute_results
from api.dashboard.filter_form import asked_filters, filters_of
from api.dashboard.forms import read_button
from api.dashboard.operations import ask, content_of, pass_on, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from engine.analysis.report.lift_by_day import has_daily_rates, why_no_lift
from engine.analysis.results.segment_report import SegmentReport
from engine.design.edit_locks import is_closed
from engine.design.lifecycle import EFFECTS, UNSTARTED, triggers_in
from engine.vocabulary import LifecycleTrigger

EXPORTS: Final = frozenset({"csv", "parquet"})
logger = logging.getLogger(__name__)


@signed_in
async def show_experiment(request: Request, session: SignedIn) -> Response:
    """Show the results of an experiment, or the settings of a draft."""
    address = address_of(request)
    experiment = (await read(request, session, address))["data"]
    asked = asked_filters(request)
    results: dict[str, Any] = {"report": None}
    if experiment["status"] not in UNSTARTED:
        results = await compute_results(request, session, partial(_results, asked))
    return await render(
        request,
        "experiment.html",
        session=session,
        address=address,
        experiment=experiment,
        steps=triggers_in(experiment["status"]),
        is_editable=not is_closed(experiment["status"]),
        asked=asked,
        query=urlencode(asked),
        **results,
    )


@signed_in
async def export_visitors(request: Request, session: SignedIn) -> Response:
    """Answer with the counted visitors as a file; the same key and filters as the results."""
    asked = asked_filters(request)
    form = asked.pop("format", "csv")
    # Errors are said on a page, which a file could not do.
    await read(request, session, f"{address_of(request)}/results/summary", asked)
    if form not in EXPORTS:
        raise PageError(404, "There is no such file.")
    return pass_on(request, session, f"{address_of(request)}/results/export", {**asked, "format": form})


@signed_in
async def confirm_step(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation of a step."""
    step, sentence = _step(request)
    experiment = (await read(request, session, address_of(request)))["data"]
    open_visitors = await _open_visitors(request, session) if step == "complete" else 0
    return await render(
        request,
        "confirm.html",
        open_visitors=open_visitors,
        session=session,
        address=address_of(request),
        experiment=experiment,
        step=step,
        sentence=sentence,
    )


@signed_in
async def take_step(request: Request, session: SignedIn) -> Response:
    """Carry out a step that was confirmed."""
    await read_button(request, session)
    step, _ = _step(request)
    content_of(await ask(request, session, f"{address_of(request)}/{step}", method="POST"))
    return redirect(address_of(request))


def _results(asked_for: Mapping[str, str], asked: AskedResults) -> dict[str, Any]:
    """Compute what the page shows of results."""
    report = asked.report()
    primary = report.primary
    available = asked.available_segments()
    return {
        "report": report,
        "segments": None if asked_for else _segments(asked),
        "has_days": primary is not None and has_daily_rates(primary),
        "has_lift": primary is not None and why_no_lift(report, primary) is None,
        # Browsers cannot draw an axis without a number.
        "has_changes": any(one.improvement_interval for goal in report.goals for one in goal.variants),
        "filters": filters_of(available, asked_for),
    }


def _segments(asked: AskedResults) -> SegmentReport | dict[str, Any]:
    """Analyze every segment; empty where that fails, which the page says beside the results."""
    try:
        return asked.segments()
    except Exception:
        logger.exception("the segments of %s could not be computed", asked.experiment.id)
        return {}


async def _open_visitors(request: Request, session: SignedIn) -> int:
    """Read how many outcomes the end would lose; 0 for a key that reads no results."""
    with suppress(PageError):
        results = (await read(request, session, f"{address_of(request)}/results"))["data"]
        return int(results["plan"]["open_visitors"])
    return 0


def _step(request: Request) -> tuple[str, str]:
    step: LifecycleTrigger = request.path_params["step"]
    if step not in EFFECTS:
        raise PageError(404, "There is no such page.")
    return step, EFFECTS[step]


def address_of(request: Request) -> str:
    """Return the path of the experiment, which is that of its page and of its operations."""
    project_id, experiment_id = (
        quote(request.path_params[name], safe="") for name in ("project_id", "experiment_id")
    )
    return f"/projects/{project_id}/experiments/{experiment_id}"
