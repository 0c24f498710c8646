"""Page that starts an experiment: its checks, a look at each variant, and a question where one is open."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.experiments import address_of
from api.dashboard.form_permissions import WRITE_EXPERIMENTS, caller_of, refusals_as_pages
from api.dashboard.forms import read_form
from api.dashboard.operations import ask, content_of
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.sessions import SignedIn
from api.deps import experiment_in_path, project_in_path
from api.services import Services
from engine.design.experiment import Experiment
from engine.design.lifecycle import EFFECTS
from engine.design.preview_addresses import preview_address
from engine.design.project import Project
from engine.design.reviewing import lacks_yes
from engine.design.rollout_conflicts import TESTS
from engine.design.start_checks import StartCheck, start_checks
from pipeline.clock import utc_now

# Fields of the form: the questions that it showed, one each.
ACCEPTED: Final = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """An experiment before its start: its checks, and the address that shows each variant by name.

    `lacking_yes` says why a second member's yes is missing, where one is required.
    """

    experiment: Experiment
    checks: tuple[StartCheck, ...]
    previews: tuple[tuple[str, str], ...]
    lacking_yes: str | None

    @property
    def questions(self) -> list[str]:
        """The codes of the checks that wait for an answer."""
        return [one.code for one in self.checks if one.state == "question"]

    @property
    def is_possible(self) -> bool:
        """Whether nothing is missing."""
        return self.lacking_yes is None and all(one.state != "missing" for one in self.checks)


@signed_in
async def show_start(request: Request, session: SignedIn) -> Response:
    """Show the checks of an experiment, and ask for the confirmation of its start."""
    return await _page(request, session, await starting_of(request, session))


@signed_in
async def send_start(request: Request, session: SignedIn) -> Response:
    """Start an experiment, unless there is a question that the form did not show."""
    sent = await read_form(request, session, WRITE_EXPERIMENTS)
    accepted: Collection[Any] = sent.getlist(ACCEPTED)
    starting = await starting_of(request, session)
    if not set(starting.questions) <= set(accepted):
        return await _page(request, session, starting, status=409)
    content_of(await ask(request, session, f"{address_of(request)}/start", method="POST"))
    return redirect(address_of(request))


async def starting_of(request: Request, session: SignedIn) -> Starting:
    """Check the experiment of a page; NotSignedInError, PageError 403, 404, 429."""
    with refusals_as_pages(request):
        return await run_in_threadpool(_starting, request, session)


def _starting(request: Request, session: SignedIn) -> Starting:
    services: Services = request.app.state.services
    caller, catalog = caller_of(request, session, "experiments:write"), services.catalog
    project: Project = project_in_path(request.path_params["project_id"], caller, catalog)
    experiment = experiment_in_path(request.path_params["experiment_id"], project, catalog)
    beside = catalog.experiments.of_project(project.id, TESTS)
    use = catalog.exclusion_groups.of_experiment(experiment)
    previews = ((one.name, preview_address(experiment, one, project.url)) for one in experiment.variants)
    return Starting(
        experiment=experiment,
        checks=start_checks(experiment, project, beside, use, now=utc_now()),
        previews=tuple(previews),
        lacking_yes=lacks_yes(experiment, "start", catalog.experiments.review_facts(experiment)),
    )


async def _page(request: Request, session: SignedIn, starting: Starting, *, status: int = 200) -> Response:
    return await render(
        request,
        "start.html",
        session=session,
        status=status,
        address=address_of(request),
        starting=starting,
        experiment=starting.experiment,
        sentence=EFFECTS["start"],
    )
