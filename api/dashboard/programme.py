"""Page of a project's programme: its ended tests together, and what was decided about each."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.experiment_list import page_in
from api.dashboard.form_permissions import caller_of, refusals_as_pages
from api.dashboard.holdout_results import read_newest_holdout
from api.dashboard.listed_rows import Rows, rows_of
from api.dashboard.operations import read
from api.dashboard.page_answers import render, signed_in
from api.dashboard.sessions import SignedIn
from api.deps import project_in_path
from api.services import Services
from engine.analysis.results.verdict_words import end_word
from pipeline.store.catalog.experiment_listings import ListedVerdict, Wanted

# By decision, or none: the word of its filter.
DECISIONS: Final[Mapping[str, str]] = {
    "ship": end_word("ship", None).label,
    "keep_control": end_word("keep_control", None).label,
    "inconclusive": end_word("inconclusive", None).label,
    "none": "Nothing decided",
}
_AT_ONCE: Final = 500
_PER_PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTests:
    """The ended tests of a page that fit what is asked for, and the numbers of all by decision."""

    rows: Rows
    numbers: Mapping[str, int]
    pages: Mapping[str, int]
    search: str
    decision: str | None
    names: Mapping[str, str]
    variants: Mapping[tuple[str, str], str]


@signed_in
async def show_programme(request: Request, session: SignedIn) -> Response:
    """Show the win rate, all winners together, the newest holdout, and each ended test with its decision."""
    path = project_address(request)
    programme = (await read(request, session, f"{path}/programme"))["data"]
    with refusals_as_pages(request):
        tests = await run_in_threadpool(_ended_tests, request, session)
    return await render(
        request,
        "programme.html",
        session=session,
        address=path,
        programme=programme,
        tests=tests,
        decisions=DECISIONS,
        held=await read_newest_holdout(request, session),
    )


def _ended_tests(request: Request, session: SignedIn) -> EndedTests | None:
    """Find the ended tests; None where the key may not read experiments."""
    services: Services = request.app.state.services
    caller = caller_of(request, session, "results:read")
    project = project_in_path(request.path_params["project_id"], caller, services.catalog)
    if "experiments:read" not in caller.key.scopes:
        return None
    every = _all_of(services, project.id)
    search = request.query_params.get("search", "")[:255].strip()
    asked = request.query_params.get("decision")
    decision = asked if asked in DECISIONS else None
    found = [one for one in every if _has(one, search) and decision in {None, _decision_of(one)}]
    last = max(1, -(-len(found) // _PER_PAGE))
    page = min(page_in(request.query_params), last)
    shown = found[(page - 1) * _PER_PAGE : page * _PER_PAGE]
    owners = {one.id: one.name for one in services.catalog.members.accepted(caller.account.id)}
    return EndedTests(
        rows=rows_of(shown, owners),
        numbers=Counter(_decision_of(one) for one in every),
        pages={"page": page, "last": last, "total": len(found)},
        search=search,
        decision=decision,
        names={one.experiment.id: one.experiment.name for one in every},
        variants={
            (one.experiment.id, variant.id): variant.name
            for one in every
            for variant in one.experiment.variants
        },
    )


def _all_of(services: Services, project_id: str) -> list[ListedVerdict]:
    """List the ended tests of a project, the last ended first."""
    wanted = Wanted(project_ids=[project_id], statuses=("completed", "archived"))
    listings, page, found = services.catalog.experiment_listings, 1, list[ListedVerdict]()
    while part := listings.verdicts(wanted, page=page, per_page=_AT_ONCE).items:
        found += part
        page += 1
    return sorted(found, key=_ended_at, reverse=True)


def _ended_at(one: ListedVerdict) -> float:
    ended = one.experiment.completed_at
    return ended.timestamp() if ended else 0.0


def _decision_of(one: ListedVerdict) -> str:
    conclusion = one.experiment.conclusion
    return "none" if conclusion is None else str(conclusion["decision"])


def _has(one: ListedVerdict, search: str) -> bool:
    """Tell whether each word stands in the name, goals, tags, variants or reasons of a test."""
    test = one.experiment
    texts = [test.name, *test.tags, *(goal.name for goal in test.goals), *(one.name for one in test.variants)]
    if test.conclusion is not None:
        texts += [str(test.conclusion["note"]), str(test.conclusion["decided_by_name"] or "")]
    told = "\n".join(texts).casefold()
    return all(word in told for word in search.casefold().split())
