"""Page of the audit trail: who changed what."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.operations import read
from api.dashboard.page_answers import render, signed_in
from api.dashboard.projects import pages_of
from api.dashboard.sessions import SignedIn

_PER_PAGE: Final = 50


@signed_in
async def show_audit_trail(request: Request, session: SignedIn) -> Response:
    """Show a page of the entries of the account, or of one object, newest first."""
    asked = {
        name: request.query_params[name] for name in ("page", "subject_id") if request.query_params.get(name)
    }
    listed = await read(request, session, "/account/audit", {**asked, "per_page": _PER_PAGE})
    return await render(
        request,
        "audit.html",
        session=session,
        entries=listed["data"],
        pages=pages_of(listed["meta"]),
        subject_id=asked.get("subject_id"),
    )
