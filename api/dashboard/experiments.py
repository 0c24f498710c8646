"""Pages of an experiment: its results, its settings, and the steps of its life."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.filter_form import asked_filters, filters_of
from api.dashboard.forms import read_form
from api.dashboard.operations import ask, content_of, pass_on, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from engine.design.lifecycle import triggers_in
from engine.vocabulary import LifecycleTrigger

# What each step does.
STEPS: Final[Mapping[LifecycleTrigger, str]] = {
    "start": "Visitors are assigned at once; of a draft, from its scheduled start.",
    "pause": "New visitors see the original. Those assigned before keep their variant.",
    "resume": "New visitors are assigned again.",
    "complete": "The experiment ends for good, and all visitors see the original. Its results stay.",
    "archive": "The experiment leaves the list of current ones. Its results stay.",
}
# Statuses in which the API takes changes of settings; after the start it takes some of them.
EDITABLE: Final = frozenset({"draft", "scheduled", "paused"})
EXPORTS: Final = frozenset({"csv", "parquet"})
_WITHOUT_RESULTS: Final = frozenset({"draft", "scheduled"})


@signed_in
async def show_experiment(request: Request, session: SignedIn) -> Response:
    """Show the results of an experiment, or the settings of a draft."""
    address = address_of(request)
    experiment = (await read(request, session, address))["data"]
    asked = asked_filters(request)
    results: dict[str, Any] | None = None
    segments: dict[str, Any] | None = None
    if experiment["status"] not in _WITHOUT_RESULTS:
        results = (await read(request, session, f"{address}/results", asked))["data"]
        if not asked:
            # Empty where they cannot be computed, which the page says beside the results.
            answer = await ask(request, session, f"{address}/results/segments")
            segments = content_of(answer)["data"] if answer.status < 500 else {}
    return render(
        request,
        "experiment.html",
        session=session,
        address=address,
        experiment=experiment,
        results=results,
        segments=segments,
        steps=triggers_in(experiment["status"]),
        is_editable=experiment["status"] in EDITABLE,
        checks=_checks_by_status(results),
        has_days=_has_days(experiment),
        has_changes=_has_changes(results),
        has_lift=_has_lift(experiment, results),
        filters=filters_of(results["available_segments"], asked) if results else [],
        asked=asked,
        query=urlencode(asked),
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
    return render(
        request,
        "confirm.html",
        session=session,
        address=address_of(request),
        experiment=experiment,
        step=step,
        sentence=sentence,
    )


@signed_in
async def take_step(request: Request, session: SignedIn) -> Response:
    """Carry out a step that was confirmed."""
    await read_form(request, session)
    step, _ = _step(request)
    content_of(await ask(request, session, f"{address_of(request)}/{step}", method="POST"))
    return redirect(address_of(request))


def _checks_by_status(results: dict[str, Any] | None) -> dict[str, list[dict[str, Any]]]:
    """Group the health checks: those to look at, and those that passed."""
    checks = results["health"] if results else []
    return {
        "open": [check for check in checks if check["status"] in {"alarm", "warning"}],
        "passed": [check for check in checks if check["status"] == "ok"],
    }


def _has_days(experiment: dict[str, Any]) -> bool:
    """Return whether the days of the primary goal are kept, so that they can be drawn."""
    primary = next((goal for goal in experiment["goals"] if goal["is_primary"]), None)
    return primary is not None and primary["config"].get("measure", "converted") in {"converted", "funnel"}


def _has_lift(experiment: dict[str, Any], results: dict[str, Any] | None) -> bool:
    """Return whether the lift of the primary goal is known by day (see `lift_by_day`)."""
    if results is None or results["estimand"] is not None or not _has_days(experiment):
        return False
    primary = next(goal for goal in experiment["goals"] if goal["is_primary"])
    has_prior = (
        experiment["analysis_method"] == "bayesian"
        and experiment["statistics"].get("prior", "flat") != "flat"
    )
    return primary["goal_type"] != "revenue" and not has_prior


def _has_changes(results: dict[str, Any] | None) -> bool:
    """Return whether a change has an interval; browsers cannot draw an axis without a number."""
    variants = [one for goal in results["variants"].values() for one in goal] if results else []
    return any(one["improvement_interval"] is not None for one in variants)


def _step(request: Request) -> tuple[str, str]:
    step: LifecycleTrigger = request.path_params["step"]
    if step not in STEPS:
        raise PageError(404, "There is no such page.")
    return step, STEPS[step]


def address_of(request: Request) -> str:
    """Return the path of the experiment, which is that of its page and of its operations."""
    project_id, experiment_id = (
        quote(request.path_params[name], safe="") for name in ("project_id", "experiment_id")
    )
    return f"/projects/{project_id}/experiments/{experiment_id}"
