"""Page that erases a person: the id, what happens, and the receipt."""

from typing import Any, Final, get_args
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.drafts.field_problems import Problems, problems_of
from api.dashboard.form_permissions import CHANGE_PROJECTS, MANAGE_KEYS, may, require
from api.dashboard.forms import read_form
from api.dashboard.operations import ask, content_of
from api.dashboard.page_answers import render, signed_in
from api.dashboard.sessions import SignedIn
from pipeline.erasure.person_erasure import IdType

FIELDS: Final = ("visitor_id", "id_type")
_CONFIRMED: Final = "confirmed"


@signed_in
async def show_erasure(request: Request, session: SignedIn) -> Response:
    """Show the form that asks for an erasure."""
    await require(request, session, CHANGE_PROJECTS)
    return await _page(request, session, {})


@signed_in
async def erase_person(request: Request, session: SignedIn) -> Response:
    """Say what an erasure does; once that is confirmed, erase the person and show the receipt."""
    sent = await read_form(request, session, CHANGE_PROJECTS)
    form = {name: str(sent.get(name) or "") for name in FIELDS}
    if not form["visitor_id"].strip():
        problems = {"visitor_id": ["is missing; give the id as your pages or servers send it"]}
        return await _page(request, session, form, problems=problems, status=422)
    if not sent.get(_CONFIRMED):
        return await _page(request, session, form, is_asked=True)
    answer = await ask(
        request,
        session,
        f"{project_address(request)}/visitors/{quote(form['visitor_id'], safe='')}",
        method="DELETE",
        query={"id_type": form["id_type"]},
        idempotency_key=sent.submission_key,
    )
    if problems := problems_of(answer, FIELDS):
        return await _page(request, session, form, problems=problems, status=answer.status)
    return await _page(request, session, {}, receipt=content_of(answer)["data"])


async def _page(  # noqa: PLR0913 - what the page shows
    request: Request,
    session: SignedIn,
    form: dict[str, str],
    *,
    problems: Problems | None = None,
    is_asked: bool = False,
    receipt: dict[str, Any] | None = None,
    status: int = 200,
) -> Response:
    return await render(
        request,
        "erasure.html",
        session=session,
        status=status,
        address=project_address(request),
        project_id=request.path_params["project_id"],
        form=form,
        problems=problems or {},
        is_asked=is_asked,
        receipt=receipt,
        id_types=get_args(IdType),
        may_audit=await may(request, session, MANAGE_KEYS),
    )
