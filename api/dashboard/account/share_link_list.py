"""Page of all share links of an account that work, and their revocation with a confirmation."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.form_permissions import MANAGE_KEYS, require
from api.dashboard.forms import read_button
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.projects import pages_of
from api.dashboard.sessions import SignedIn

PAGE: Final = "/account/share_links"
_PER_PAGE: Final = 50


@signed_in
async def show_share_links(request: Request, session: SignedIn) -> Response:
    """Show a page of the links that work, newest first."""
    query = {"page": request.query_params.get("page"), "per_page": _PER_PAGE}
    listed = await read(request, session, PAGE, query)
    pages = pages_of(listed["meta"])
    return await render(request, "share_links.html", session=session, links=listed["data"], pages=pages)


@signed_in
async def confirm_all(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that all links are revoked."""
    await require(request, session, MANAGE_KEYS)
    return await render(
        request,
        "confirm_form.html",
        session=session,
        title="Revoke all share links of the account?",
        sentence="Whoever has one of them gets an error from now on. This cannot be undone.",
        address=f"{PAGE}/revoke",
        button="Revoke all",
        back=PAGE,
        back_name="Share links",
    )


@signed_in
async def revoke_all(request: Request, session: SignedIn) -> Response:
    """Revoke all links of the account."""
    await read_button(request, session)
    content_of(await ask(request, session, PAGE, method="DELETE"))
    return redirect(PAGE)
