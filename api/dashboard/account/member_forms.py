"""Forms of members: addition, change of the name and role, and removal with a confirmation."""

from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.account.account_page import account_page
from api.dashboard.drafts.field_problems import Problems, problems_of
from api.dashboard.form_permissions import MANAGE_KEYS
from api.dashboard.forms import read_button, read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from pipeline.store.catalog.members import ROLES

FIELDS: Final = ("email_address", "name", "role")


@signed_in
async def add_member(request: Request, session: SignedIn) -> Response:
    """Add a member."""
    form = await read_form(request, session, MANAGE_KEYS)
    body = {field: str(form.get(field) or "").strip() for field in FIELDS}
    answer = await ask(
        request,
        session,
        "/account/members",
        method="POST",
        body=body,
        idempotency_key=form.submission_key,
    )
    problems = problems_of(answer, FIELDS)
    if problems:
        return await account_page(
            request, session, member_form=form, member_problems=problems, status=answer.status
        )
    return redirect("/account")


@signed_in
async def show_member(request: Request, session: SignedIn) -> Response:
    """Show the form of a member's name and role."""
    member = await _find_member(request, session)
    return await _member_page(request, session, member)


@signed_in
async def change_member(request: Request, session: SignedIn) -> Response:
    """Change a member's name and role."""
    form = await read_form(request, session, MANAGE_KEYS)
    body = {field: str(form.get(field) or "").strip() for field in ("name", "role")}
    answer = await ask(request, session, _path(request), method="PATCH", body=body)
    problems = problems_of(answer, ("name", "role"))
    if problems:
        member = await _find_member(request, session)
        return await _member_page(request, session, {**member, **body}, problems, status=answer.status)
    return redirect("/account")


@signed_in
async def confirm_removal(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation of a removal, with the keys that it ends."""
    member = await _find_member(request, session)
    keys = (await read(request, session, "/account/api_keys"))["data"]
    held = [key for key in keys if key["member_id"] == member["id"] and key["revoked_at"] is None]
    return await render(request, "remove_member.html", session=session, member=member, keys=held)


@signed_in
async def remove_member(request: Request, session: SignedIn) -> Response:
    """Remove a member with its keys and their sessions."""
    await read_button(request, session)
    content_of(await ask(request, session, _path(request), method="DELETE"))
    return redirect("/account")


def _path(request: Request) -> str:
    return f"/account/members/{quote(request.path_params['member_id'], safe='')}"


async def _find_member(request: Request, session: SignedIn) -> dict[str, Any]:
    # Only a key that manages keys may list them, as only such a key changes members.
    await read(request, session, "/account/api_keys")
    members = (await read(request, session, "/account/members"))["data"]
    member = next((one for one in members if one["id"] == request.path_params["member_id"]), None)
    if member is None:
        raise PageError(404, "There is no such member.")
    found: dict[str, Any] = member
    return found


async def _member_page(
    request: Request,
    session: SignedIn,
    member: dict[str, Any],
    problems: Problems | None = None,
    status: int = 200,
) -> Response:
    return await render(
        request,
        "member.html",
        session=session,
        status=status,
        member=member,
        roles=ROLES,
        problems=problems or {},
    )
