"""Page of a share link: the results of one experiment, read-only, for whoever has the link."""

from functools import partial
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.computed_results import AskedResults
from api.dashboard.filter_form import asked_filters
from api.dashboard.page_answers import TITLES, public, render
from api.dashboard.results_page.results_content import OPTIONS, PageAddress, report_content
from api.dashboard.sharing.shared_report import shared_report
from api.errors import ApiError
from api.middleware.token_in_path import SHARED
from api.schemas.segment_filters import ResultsQuery
from api.services import Services
from engine.analysis.results.verdict_words import LIFE_WORDS
from engine.design.experiment import Experiment
from engine.design.lifecycle import UNSTARTED
from pipeline.clock import utc_now
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.sharing.share_link_repository import ShareLink

# The page runs no script, has no form, and tells nobody its address.
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}
_OVER: Final = (
    "This link does not work. It may have been mistyped, or it has expired or was revoked: ask for a new one "
    "where you have it from."
)


async def show_shared_results(request: Request) -> Response:
    """Show the results of a link, or say that it does not work: the same whatever the reason is."""
    answer = await _shared_results(request)
    answer.headers.update(HEADERS)
    return answer


@public
async def _shared_results(request: Request) -> Response:
    services: Services = request.app.state.services
    try:
        services.shared_views.require_room(request)
    except ApiError as error:
        refused = await _refusal(request, 429, error.message)
        refused.headers.update(error.headers)
        return refused
    token: str = request.state.share_token
    found = await run_in_threadpool(_find, services, token)
    if found is None:
        return await _refusal(request, 404, _OVER)
    link, asked = found
    content: dict[str, Any] = {"report": None}
    if asked.experiment.status not in UNSTARTED:
        options = {name: value for name, value in asked_filters(request).items() if name in OPTIONS}
        page = PageAddress(f"{SHARED}{token}", {}, options)
        work = partial(_content, asked, link, page)
        content = await services.results_threads.run(asked.project.id, work)
    return await render(
        request,
        "shared.html",
        experiment=_shown(asked.experiment),
        life=LIFE_WORDS[asked.experiment.status],
        expires_at=link.expires_at,
        **content,
    )


def _find(services: Services, token: str) -> tuple[ShareLink, AskedResults] | None:
    link = services.catalog.share_links.find(token, now=utc_now())
    if link is None:
        return None
    try:
        project = services.catalog.projects.get(link.account_id, link.project_id)
        experiment = services.catalog.experiments.get(link.project_id, link.experiment_id)
    except NotFoundError:
        # Deleted since the link was found.
        return None
    return link, AskedResults(services=services, project=project, experiment=experiment, query=ResultsQuery())


def _shown(experiment: Experiment) -> dict[str, Any]:
    """Take of an experiment what the page shows: neither its code nor who decided, and why."""
    decided = experiment.conclusion
    return {
        "name": experiment.name,
        "status": experiment.status,
        "conclusion": decided and {"decision": decided.decision, "decided_at": decided.decided_at},
        "rollout": None,
    }


def _content(asked: AskedResults, link: ShareLink, page: PageAddress) -> dict[str, Any]:
    report = shared_report(asked.report(), shows_money=link.shows_money)
    return report_content(asked, report, page, hides_money=not link.shows_money)


async def _refusal(request: Request, status: int, message: str) -> Response:
    title = TITLES[status]
    return await render(request, "shared_refused.html", status=status, title=title, message=message)
