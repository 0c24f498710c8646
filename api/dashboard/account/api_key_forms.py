"""Forms of API keys: creation, and revocation with a confirmation."""

from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.account.account_page import account_page
from api.dashboard.drafts.field_problems import problems_of
from api.dashboard.form_permissions import MANAGE_KEYS
from api.dashboard.forms import read_button, read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn

FIELDS: Final = ("name", "scopes", "project_ids", "member_id")


@signed_in
async def create_key(request: Request, session: SignedIn) -> Response:
    """Create a key, and show its token this once."""
    form = await read_form(request, session, MANAGE_KEYS)
    body = {
        "name": str(form.get("name") or "").strip(),
        "scopes": [str(scope) for scope in form.getlist("scopes")],
        "project_ids": [str(project) for project in form.getlist("project_ids")],
        # Without one the key is of the member that is signed in.
        "member_id": str(form.get("member_id") or "") or None,
    }
    answer = await ask(
        request,
        session,
        "/account/api_keys",
        method="POST",
        body=body,
        idempotency_key=form.submission_key,
    )
    problems = problems_of(answer, FIELDS)
    if problems:
        return await account_page(
            request, session, key_form=form, key_problems=problems, status=answer.status
        )
    return await account_page(request, session, created=content_of(answer)["data"])


@signed_in
async def confirm_revocation(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation of a revocation."""
    keys = (await read(request, session, "/account/api_keys"))["data"]
    key = next((one for one in keys if one["id"] == request.path_params["key_id"]), None)
    if key is None:
        raise PageError(404, "There is no such key.")
    return await render(request, "revoke_key.html", session=session, key=key)


@signed_in
async def revoke_key(request: Request, session: SignedIn) -> Response:
    """Revoke a key; its sessions end with it."""
    await read_button(request, session)
    key_id = quote(request.path_params["key_id"], safe="")
    content_of(await ask(request, session, f"/account/api_keys/{key_id}/revoke", method="POST"))
    return redirect("/account")
