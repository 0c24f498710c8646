"""Pages of holdouts: the list, the results of each, and forms that create, change, end and delete one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import item_address, project_address
from api.dashboard.drafts.draft_form import utc_field
from api.dashboard.drafts.draft_view import read_metrics
from api.dashboard.form_permissions import WRITE_EXPERIMENTS, may, require
from api.dashboard.forms import read_button
from api.dashboard.holdout_results import read_holdout_results
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.project_pages.record_form import NUMBER, TEXT, TIME, RecordForm
from api.dashboard.project_pages.record_pages import (
    RecordPage,
    ShownForm,
    create_record,
    save_record,
    show_new_record,
    show_record,
)
from api.dashboard.projects import PER_PAGE, pages_of
from api.dashboard.sessions import SignedIn
from engine.design.holdout import LARGEST_PERCENT
from pipeline.clock import utc_now

_STATES: Final[Mapping[str, str]] = {"scheduled": "scheduled", "running": "in force", "completed": "ended"}


def _collection(request: Request) -> str:
    return f"{project_address(request)}/holdouts"


def _holdout(request: Request) -> str:
    return item_address(request, "holdouts")


async def _context(request: Request, session: SignedIn, shown: ShownForm) -> Mapping[str, object]:
    collection, is_new = _collection(request), not shown.record
    return {
        "address": f"{collection}/new" if is_new else f"{_holdout(request)}/edit",
        "back": collection if is_new else _holdout(request),
        "collection": collection,
        "project": project_address(request),
        "holdout": shown.record,
        "largest": LARGEST_PERCENT,
        "metrics": await read_metrics(request, session) if is_new else [],
        "groups": await _groups(request, session) if is_new else {},
        "goal_problems": [
            message for path, found in shown.problems.items() if path.startswith("goals") for message in found
        ],
    }


def _shown(holdout: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a holdout with its end as a field of the browser takes it."""
    return {**holdout, "to": holdout["to"] and utc_field(holdout["to"])}


def _with_each_metric_once(body: dict[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out a further metric that is the primary one, too."""
    ids = dict.fromkeys(goal["metric_id"] for goal in body.get("goals", ()))
    return {**body, "goals": [{"metric_id": one} for one in ids]}


_PAGE: Final = RecordPage(
    template="holdout_form.html",
    form=RecordForm({"name": TEXT, "to": TIME}, required=frozenset({"name"})),
    permission=WRITE_EXPERIMENTS,
    address=_holdout,
    context=_context,
    shown=_shown,
)
_NEW: Final = replace(
    _PAGE,
    form=RecordForm(
        {
            **dict.fromkeys(("name", "group_id", "goals[].metric_id"), TEXT),
            "percent": NUMBER,
            **dict.fromkeys(("from", "to"), TIME),
        },
        required=frozenset({"name", "percent"}),
    ),
    address=_collection,
    to_body=_with_each_metric_once,
)


@signed_in
async def show_holdouts(request: Request, session: SignedIn) -> Response:
    """List the holdouts of a project, the newest first."""
    query = {"page": request.query_params.get("page"), "per_page": PER_PAGE}
    listed = await read(request, session, _collection(request), query)
    return await render(
        request,
        "holdouts.html",
        session=session,
        address=project_address(request),
        holdouts=listed["data"],
        pages=pages_of(listed["meta"]),
        states=_STATES,
        groups=await _groups(request, session, listed["data"]),
        may_write=await may(request, session, WRITE_EXPERIMENTS),
    )


@signed_in
async def show_new_holdout(request: Request, session: SignedIn) -> Response:
    """Show the form of a new holdout."""
    return await show_new_record(request, session, _NEW, {"percent": "5"})


@signed_in
async def create_holdout(request: Request, session: SignedIn) -> Response:
    """Create a holdout, and show its page."""
    created, refused = await create_record(request, session, _NEW)
    return refused or redirect(f"{_collection(request)}/{created['id']}")


@signed_in
async def show_holdout(request: Request, session: SignedIn) -> Response:
    """Show what the programme was worth by a holdout, beside the sums of the winners' shrunken lifts."""
    project = project_address(request)
    holdout = (await read(request, session, _holdout(request)))["data"]
    held = programme = None
    if holdout["status"] != "scheduled":
        held = await read_holdout_results(request, session, holdout)
        programme = (await read(request, session, f"{project}/programme"))["data"]
    return await render(
        request,
        "holdout_page.html",
        session=session,
        address=project,
        holdout=holdout,
        state=_STATES[holdout["status"]],
        held=held,
        groups=await _groups(request, session, [holdout]),
        programme=programme,
        may_write=await may(request, session, WRITE_EXPERIMENTS),
    )


@signed_in
async def show_holdout_form(request: Request, session: SignedIn) -> Response:
    """Show the form with the name and the end of a holdout."""
    return await show_record(request, session, _PAGE)


@signed_in
async def save_holdout(request: Request, session: SignedIn) -> Response:
    """Save the name and the end of a holdout."""
    return await save_record(request, session, _PAGE)


@signed_in
async def confirm_holdout_end(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that a holdout ends now."""
    return await _confirm(
        request,
        session,
        step="end",
        title="End “{}” now?",
        button="End now",
        sentence="Those held out see tests and rollouts from now on. An ended holdout cannot go on; its "
        "results stay.",
        possible=("running",),
        otherwise="It is not in force.",
    )


@signed_in
async def end_holdout(request: Request, session: SignedIn) -> Response:
    """End a holdout that was confirmed."""
    await read_button(request, session)
    body = {"to": utc_now().isoformat()}
    content_of(await ask(request, session, _holdout(request), method="PATCH", body=body))
    return redirect(_holdout(request))


@signed_in
async def confirm_holdout_deletion(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that a holdout is deleted, or say that it has to end first."""
    return await _confirm(
        request,
        session,
        step="delete",
        title="Delete “{}”?",
        button="Delete",
        sentence="Its results are deleted, too.",
        possible=("scheduled", "completed"),
        otherwise="It is in force. End it first.",
    )


@signed_in
async def delete_holdout(request: Request, session: SignedIn) -> Response:
    """Delete a holdout that was confirmed."""
    await read_button(request, session)
    content_of(await ask(request, session, _holdout(request), method="DELETE"))
    return redirect(_collection(request))


async def _confirm(  # noqa: PLR0913 - the texts of a page
    request: Request,
    session: SignedIn,
    *,
    step: str,
    title: str,
    button: str,
    sentence: str,
    possible: tuple[str, ...],
    otherwise: str,
) -> Response:
    await require(request, session, WRITE_EXPERIMENTS)
    holdout = (await read(request, session, _holdout(request)))["data"]
    is_possible = holdout["status"] in possible
    return await render(
        request,
        "confirm_form.html",
        session=session,
        title=title.format(holdout["name"]),
        sentence=sentence if is_possible else otherwise,
        address=f"{_holdout(request)}/{step}",
        button=button if is_possible else None,
        back=_holdout(request),
        back_name=holdout["name"],
    )


async def _groups(
    request: Request, session: SignedIn, holdouts: Sequence[Mapping[str, Any]] = ()
) -> dict[str, str]:
    """Read the names of the exclusion groups by id; deleted ones of the holdouts are named so."""
    listed = (await read(request, session, f"{project_address(request)}/groups"))["data"]
    deleted = {one["group_id"]: "a deleted group" for one in holdouts if one["group_id"]}
    return {**deleted, **{one["id"]: one["name"] for one in listed}}
