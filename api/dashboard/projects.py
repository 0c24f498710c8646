"""Pages of projects: the list, and the experiments of one."""

import asyncio
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.operations import ask, read
from api.dashboard.page_answers import render, signed_in
from api.dashboard.sessions import SignedIn
from engine.design.lifecycle import UNSTARTED
from engine.vocabulary import Status, words

PER_PAGE: Final = 25
# Experiments that a search shows at most, and reads at once.
SEARCHED: Final = 100
_FILTERS: Final = ("status", "search", "page")


@signed_in
async def show_projects(request: Request, session: SignedIn) -> Response:
    """List the projects that the key reaches."""
    query = {"page": request.query_params.get("page"), "per_page": PER_PAGE}
    listed = await read(request, session, "/projects", query)
    return await render(
        request, "projects.html", session=session, projects=listed["data"], pages=pages_of(listed["meta"])
    )


@signed_in
async def show_project(request: Request, session: SignedIn) -> Response:
    """List the experiments of a project with their verdicts."""
    project_id = quote(request.path_params["project_id"], safe="")
    asked = {name: request.query_params.get(name) or None for name in _FILTERS}
    path = f"/projects/{project_id}"
    project, (experiments, pages) = await asyncio.gather(
        read(request, session, path), _experiments(request, session, path, asked)
    )
    summaries = await asyncio.gather(
        *(_summary(request, session, path, one) for one in experiments if one["status"] not in UNSTARTED)
    )
    return await render(
        request,
        "project.html",
        session=session,
        project=project["data"],
        experiments=experiments,
        summaries={key: value for key, value in summaries if value is not None},
        statuses=words(Status),
        asked=asked,
        pages=pages,
    )


async def _experiments(
    request: Request, session: SignedIn, path: str, asked: dict[str, str | None]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Read a page of experiments; those of a searched name are on one page."""
    sought = (asked["search"] or "").casefold()
    query = {"status": asked["status"], "page": asked["page"], "per_page": PER_PAGE}
    if not sought:
        listed = await read(request, session, f"{path}/experiments", query)
        return listed["data"], pages_of(listed["meta"])
    found: list[dict[str, Any]] = []
    page, last = 0, 1
    while page < last and len(found) < SEARCHED:
        page += 1
        query |= {"page": page, "per_page": SEARCHED}
        listed = await read(request, session, f"{path}/experiments", query)
        last = pages_of(listed["meta"])["last"]
        found += [one for one in listed["data"] if sought in one["name"].casefold()]
    return found[:SEARCHED], {"page": 1, "last": 1, "total": len(found)}


def pages_of(meta: dict[str, Any]) -> dict[str, int]:
    """Return the number of the page, of all pages, and of the items on them."""
    last = max(1, -(-meta["total"] // meta["per_page"]))
    return {"page": meta["page"], "last": last, "total": meta["total"]}


async def _summary(
    request: Request, session: SignedIn, path: str, experiment: dict[str, Any]
) -> tuple[str, dict[str, Any] | None]:
    """Read the verdict of an experiment; None where the key may not, or it cannot be computed now."""
    answer = await ask(request, session, f"{path}/experiments/{experiment['id']}/results/summary")
    content = answer.content or {}
    return experiment["id"], content.get("data") if answer.status == 200 else None
