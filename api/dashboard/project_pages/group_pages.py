"""Pages of exclusion groups: the list, with what is taken and free, and forms to create and rename one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import item_address, project_address
from api.dashboard.form_permissions import WRITE_EXPERIMENTS, may
from api.dashboard.forms import read_button
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.project_pages.record_form import TEXT, RecordForm
from api.dashboard.project_pages.record_pages import (
    RecordPage,
    ShownForm,
    create_record,
    save_record,
    show_new_record,
    show_record,
)
from api.dashboard.sessions import SignedIn


def _collection(request: Request) -> str:
    return f"{project_address(request)}/groups"


def _group(request: Request) -> str:
    return item_address(request, "groups")


async def _context(request: Request, _: SignedIn, shown: ShownForm) -> Mapping[str, object]:
    return {
        "address": _group(request) if shown.record else f"{_collection(request)}/new",
        "collection": _collection(request),
        "group": shown.record,
    }


_PAGE: Final = RecordPage(
    template="group.html",
    form=RecordForm({"name": TEXT}, required=frozenset({"name"})),
    permission=WRITE_EXPERIMENTS,
    address=_group,
    context=_context,
)
_NEW: Final = replace(_PAGE, address=_collection)


@signed_in
async def show_groups(request: Request, session: SignedIn) -> Response:
    """List the groups of a project, with the experiments that have slots of each."""
    return await render(
        request,
        "groups.html",
        session=session,
        address=project_address(request),
        groups=(await read(request, session, _collection(request)))["data"],
        may_write=await may(request, session, WRITE_EXPERIMENTS),
        is_saved="saved" in request.query_params,
    )


@signed_in
async def show_new_group(request: Request, session: SignedIn) -> Response:
    """Show the form of a new group."""
    return await show_new_record(request, session, _NEW, {})


@signed_in
async def create_group(request: Request, session: SignedIn) -> Response:
    """Create a group, and lead to the list."""
    _, refused = await create_record(request, session, _NEW)
    return refused or redirect(f"{_collection(request)}?saved=yes")


@signed_in
async def show_group(request: Request, session: SignedIn) -> Response:
    """Show the form of a group."""
    return await show_record(request, session, _PAGE)


@signed_in
async def save_group(request: Request, session: SignedIn) -> Response:
    """Save the name of a group."""
    return await save_record(request, session, _PAGE)


@signed_in
async def confirm_group_deletion(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that a group is deleted, or say what has slots of it."""
    group = (await read(request, session, _group(request)))["data"]
    holders = ", ".join(one["name"] for one in group["experiments"])
    sentence = "Drafts that ask for it need another group, or none, to start."
    if holders:
        sentence = f"These have slots of it: {holders}. End them, or their rollouts, first."
    return await render(
        request,
        "confirm_form.html",
        session=session,
        title=f"Delete “{group['name']}”?",
        sentence=sentence,
        address=f"{_group(request)}/delete",
        button=None if holders else "Delete",
        back=_collection(request),
        back_name="Groups",
    )


@signed_in
async def delete_group(request: Request, session: SignedIn) -> Response:
    """Delete a group that was confirmed."""
    await read_button(request, session)
    content_of(await ask(request, session, _group(request), method="DELETE"))
    return redirect(_collection(request))
