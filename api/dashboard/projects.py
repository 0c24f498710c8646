"""Page of the projects that a key reaches."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.operations import read
from api.dashboard.page_answers import render, signed_in
from api.dashboard.sessions import SignedIn

PER_PAGE: Final = 25


@signed_in
async def show_projects(request: Request, session: SignedIn) -> Response:
    """List the projects that the key reaches."""
    query = {"page": request.query_params.get("page"), "per_page": PER_PAGE}
    listed = await read(request, session, "/projects", query)
    return await render(
        request, "projects.html", session=session, projects=listed["data"], pages=pages_of(listed["meta"])
    )


def pages_of(meta: dict[str, Any]) -> dict[str, int]:
    """Return the number of the page, of all pages, and of the items on them."""
    last = max(1, -(-meta["total"] // meta["per_page"]))
    return {"page": meta["page"], "last": last, "total": meta["total"]}
