"""Pages of the account: its usage and members, and its API keys."""

from typing import Any, Final
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.drafts.field_problems import ABOVE, problems_by_field
from api.dashboard.forms import read_form, submission_key
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import NotSignedInError, PageError
from api.dashboard.sessions import SignedIn
from pipeline.store.catalog.keys import SCOPES

FIELDS: Final = ("name", "scopes", "project_ids")
_MOST_PROJECTS: Final = 100


@signed_in
async def show_account(request: Request, session: SignedIn) -> Response:
    """Show usage and members, and the keys where the session's key manages them."""
    return await _show(request, session)


@signed_in
async def create_key(request: Request, session: SignedIn) -> Response:
    """Create a key, and show its token this once."""
    form = await read_form(request, session)
    body = {
        "name": str(form.get("name") or "").strip(),
        "scopes": [str(scope) for scope in form.getlist("scopes")],
        "project_ids": [str(project) for project in form.getlist("project_ids")],
    }
    answer = await ask(
        request,
        session,
        "/account/api_keys",
        method="POST",
        body=body,
        idempotency_key=submission_key(form),
    )
    if answer.status == 401:
        raise NotSignedInError
    if answer.status == 201:
        return await _show(request, session, created=content_of(answer)["data"])
    error = (answer.content or {}).get("error", {})
    problems = problems_by_field(error.get("details", ()), FIELDS)
    if not problems:
        problems[ABOVE] = [str(error.get("message", "The request failed."))]
    return await _show(request, session, form=form, problems=problems, status=answer.status)


@signed_in
async def confirm_revocation(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation of a revocation."""
    keys = (await read(request, session, "/account/api_keys"))["data"]
    key = next((one for one in keys if one["id"] == request.path_params["key_id"]), None)
    if key is None:
        raise PageError(404, "There is no such key.")
    return render(request, "revoke_key.html", session=session, key=key)


@signed_in
async def revoke_key(request: Request, session: SignedIn) -> Response:
    """Revoke a key; its sessions end with it."""
    await read_form(request, session)
    key_id = quote(request.path_params["key_id"], safe="")
    content_of(await ask(request, session, f"/account/api_keys/{key_id}/revoke", method="POST"))
    return redirect("/account")


async def _show(  # noqa: PLR0913 - what a page shows
    request: Request,
    session: SignedIn,
    *,
    created: dict[str, Any] | None = None,
    form: FormData | None = None,
    problems: dict[str, list[str]] | None = None,
    status: int = 200,
) -> Response:
    usage = (await read(request, session, "/account/usage"))["data"]
    members = (await read(request, session, "/account/members"))["data"]
    return render(
        request,
        "account.html",
        session=session,
        status=status,
        usage=usage,
        members=members,
        keys=await _listed(request, session, "/account/api_keys"),
        projects=await _listed(request, session, "/projects", per_page=_MOST_PROJECTS) or [],
        scopes=SCOPES,
        created=created,
        typed=form.get("name", "") if form else "",
        chosen=[*form.getlist("scopes"), *form.getlist("project_ids")] if form else [],
        problems=problems or {},
    )


async def _listed(
    request: Request, session: SignedIn, path: str, **query: int
) -> list[dict[str, Any]] | None:
    """Read a list; None where the key may not."""
    answer = await ask(request, session, path, query=query)
    listed: list[dict[str, Any]] | None = content_of(answer)["data"] if answer.status == 200 else None
    return listed
