"""Pages of an experiment: its results, its settings, and the steps of its life."""

from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.computed_results import compute_results
from api.dashboard.drafts.ramp_fields import HARM_SENTENCES
from api.dashboard.filter_form import asked_filters
from api.dashboard.forms import read_button
from api.dashboard.operations import ask, content_of, pass_on, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.results_page.results_content import OPTIONS, PageAddress, results_content
from api.dashboard.sessions import SignedIn
from engine.analysis.results.verdict_words import LIFE_WORDS
from engine.design.edit_locks import is_closed
from engine.design.lifecycle import EFFECTS, UNSTARTED, triggers_in
from engine.vocabulary import LifecycleTrigger

EXPORTS: Final = frozenset({"csv", "parquet"})


@signed_in
async def show_experiment(request: Request, session: SignedIn) -> Response:
    """Show the results of an experiment, or the settings of a draft."""
    address = address_of(request)
    experiment = (await read(request, session, address))["data"]
    asked = asked_filters(request)
    options = {name: asked.pop(name) for name in OPTIONS if name in asked}
    results: dict[str, Any] = {"report": None, "ramp": None}
    if experiment["status"] not in UNSTARTED:
        page = PageAddress(address, asked, options)
        results = await compute_results(request, session, partial(results_content, page=page))
    return await render(
        request,
        "experiment.html",
        session=session,
        address=address,
        experiment=experiment,
        life=LIFE_WORDS[experiment["status"]],
        steps=triggers_in(experiment["status"]),
        is_editable=not is_closed(experiment["status"]),
        query=urlencode(asked),
        harm_sentences=HARM_SENTENCES,
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
    return f"{project_address(request)}/experiments/{quote(request.path_params['experiment_id'], safe='')}"
