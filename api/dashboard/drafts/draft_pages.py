"""Pages that create and edit a draft."""

from collections.abc import Mapping
from typing import Any, Final, Unpack

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.drafts.draft_form import (
    Form,
    body_of,
    changes_of,
    form_of,
    form_sent,
    new_form,
    with_row,
)
from api.dashboard.drafts.draft_plan import plan_of, typed_plan
from api.dashboard.drafts.draft_view import Shown, answer_form
from api.dashboard.drafts.field_problems import ABOVE, problems_by_field
from api.dashboard.drafts.form_fields import CHECKED
from api.dashboard.drafts.form_rows import RowsError, row_counts, without_row
from api.dashboard.drafts.opened_revision import OpenedRevision, SavedField
from api.dashboard.drafts.payload_text import payload_problems
from api.dashboard.drafts.ramp_fields import with_ramp, without_ramp
from api.dashboard.drafts.usual_numbers import usual_numbers
from api.dashboard.experiments import address_of
from api.dashboard.form_permissions import WRITE_EXPERIMENTS, require
from api.dashboard.forms import fields_of, read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import NotSignedInError, PageError
from api.dashboard.page_threads import on_page_thread
from api.dashboard.sessions import SignedIn
from api.dashboard.typed_forms import typed_form
from api.in_process import OperationAnswer
from api.services import Services

# The buttons that save, and the page of the experiment that follows.
_SAVING: Final = {"save": "", "start": "/start"}
# The buttons that give the form a ramp, and take it away.
_RAMPS: Final = {"ramp": with_ramp, "no_ramp": without_ramp}
# The second is asked for where the experiment, but nothing of its form, has changed.
_SAVES: Final = 2


@signed_in
async def show_new_draft(request: Request, session: SignedIn) -> Response:
    """Show the form of a new draft."""
    await require(request, session, WRITE_EXPERIMENTS)
    await read(request, session, project_address(request))
    with typed_form(request) as typed:
        if typed is not None:
            return await answer_form(request, session, (await _read(request, typed))[0], is_typed=True)
        return await _answer_filled_in(request, session, new_form())


@signed_in
async def show_draft(request: Request, session: SignedIn) -> Response:
    """Show the form of an experiment."""
    await require(request, session, WRITE_EXPERIMENTS)
    experiment, form, opened = await _opened(request, session)
    with typed_form(request) as typed:
        if typed is None:
            return await _answer_filled_in(request, session, form, experiment=experiment, opened=opened)
        form, opened = await _read(request, typed)
        return await answer_form(request, session, form, experiment=experiment, opened=opened, is_typed=True)


async def _answer_filled_in(
    request: Request, session: SignedIn, form: Form, **shown: Unpack[Shown]
) -> Response:
    """Show a form whose calculator, which no draft keeps, starts with the numbers of the newest test."""
    usual = await usual_numbers(request, session, form)
    filled_in = usual.fill_in(form) if usual else form
    return await answer_form(request, session, filled_in, usual=usual, **shown)


@signed_in
async def send_new_draft(request: Request, session: SignedIn) -> Response:
    """Create a draft, or answer another button of the form."""
    sent = await read_form(request, session, WRITE_EXPERIMENTS)
    fields = fields_of(sent)
    form, _ = await _read(request, fields)
    if (action := fields.get("action", "save")) not in _SAVING:
        return await _change_form(request, session, form, action)
    if problems := await on_page_thread(request, payload_problems, form):
        return await answer_form(request, session, form, problems=problems, status=422)
    answer = await ask(
        request,
        session,
        f"{project_address(request)}/experiments",
        method="POST",
        body=await on_page_thread(request, body_of, form),
        idempotency_key=sent.submission_key,
    )
    if answer.status == 201:
        created = content_of(answer)["data"]["id"]
        return redirect(f"{project_address(request)}/experiments/{created}{_SAVING[action]}")
    return await _refused(request, session, form, answer)


@signed_in
async def send_draft(request: Request, session: SignedIn) -> Response:
    """Change an experiment, or answer another button of the form."""
    fields = fields_of(await read_form(request, session, WRITE_EXPERIMENTS))
    form, opened = await _read(request, fields)
    experiment, _ = await _stored(request, session)
    if (action := fields.get("action", "save")) not in _SAVING:
        return await _change_form(request, session, form, action, experiment=experiment, opened=opened)
    shown: Shown = {"experiment": experiment, "opened": opened}
    if problems := await on_page_thread(request, payload_problems, form):
        return await answer_form(request, session, form, problems=problems, status=422, **shown)
    saved: list[SavedField] = []
    for _ in range(_SAVES):
        changes = await on_page_thread(request, changes_of, form, experiment)
        answer = await ask(
            request, session, address_of(request), method="PATCH", body=changes, if_match=opened.tag
        )
        if answer.status == 200:
            return redirect(address_of(request) + _SAVING[action])
        if answer.status != 412:
            return await _refused(request, session, form, answer, experiment=experiment, opened=opened)
        experiment, current, now = await _opened(request, session)
        form, saved = await on_page_thread(request, opened.merged, form, current, fields)
        opened = now
        # Where nothing of the form has changed, such as by a pause, nothing can be lost.
        if saved:
            break
    return await answer_form(
        request, session, form, experiment=experiment, opened=opened, saved=saved, status=412
    )


async def _opened(request: Request, session: SignedIn) -> tuple[dict[str, Any], Form, OpenedRevision]:
    """Read an experiment, its form, and the revision that the form is opened with."""
    experiment, tag = await _stored(request, session)
    form = await on_page_thread(request, form_of, experiment)
    return experiment, form, await on_page_thread(request, OpenedRevision.of, tag, form)


async def _stored(request: Request, session: SignedIn) -> tuple[dict[str, Any], str]:
    """Read an experiment with its tag, and the strategy of its weights, which no answer of the API has."""
    answer = await ask(request, session, address_of(request))
    experiment: dict[str, Any] = content_of(answer)["data"]
    services: Services = request.app.state.services
    find = services.catalog.experiments.get
    stored = await run_in_threadpool(find, request.path_params["project_id"], experiment["id"])
    return {**experiment, "traffic_strategy": stored.traffic_strategy}, answer.headers["etag"]


async def _read(request: Request, fields: Mapping[str, str]) -> tuple[Form, OpenedRevision]:
    """Return a form that was sent, and what it was opened with; PageError 422 for rows that no page has."""
    try:
        form = await on_page_thread(request, form_sent, fields)
    except RowsError as error:
        raise PageError(422, str(error)) from error
    return form, await on_page_thread(request, OpenedRevision.sent, fields)


async def _change_form(
    request: Request,
    session: SignedIn,
    form: Form,
    action: str,
    **shown: Unpack[Shown],
) -> Response:
    """Add or remove a row, or plan the sample; nothing is saved."""
    name, _, about = action.partition(":")
    if name == "add":
        form = await on_page_thread(request, with_row, form, about)
    elif name == "remove":
        form = await on_page_thread(request, _without_row, form, about)
    elif name in _RAMPS:
        form = await on_page_thread(request, _RAMPS[name], form)
    elif name == "take" and about.isdecimal():
        form = {**form, "statistics.planned_sample": about}
    elif name == "plan":
        _, problems = await on_page_thread(request, plan_of, form)
        return await answer_form(
            request, session, form, problems=problems, status=422 if problems else 200, **shown
        )
    return await answer_form(request, session, form, **shown)


def _without_row(form: Form, row: str) -> Form:
    """Remove a row, and mark the first item of a list whose marked one it was."""
    form = without_row(form, row)
    counts = row_counts(form)
    for rows, mark in (("variants", "is_control"), ("goals", "is_primary")):
        marks = [f"{rows}[{index}].{mark}" for index in range(counts.get(rows, 0))]
        if marks and not any(form[one] for one in marks):
            form[marks[0]] = CHECKED
    return form


async def _refused(
    request: Request,
    session: SignedIn,
    form: Form,
    answer: OperationAnswer,
    **shown: Unpack[Shown],
) -> Response:
    """Show the form as it was sent, with the problems beside the fields."""
    if answer.status == 401:
        raise NotSignedInError
    problems = await on_page_thread(request, _problems_of, answer, form)
    return await answer_form(request, session, form, problems=problems, status=answer.status, **shown)


def _problems_of(answer: OperationAnswer, form: Form) -> dict[str, list[str]]:
    """Return what is wrong by field."""
    error = (answer.content or {}).get("error", {})
    details = error.get("details", ())
    if not details:
        return {ABOVE: [str(error.get("message", "The request failed."))]}
    return problems_by_field(details, form)


@signed_in
async def answer_plan(request: Request, session: SignedIn) -> Response:
    """Answer with the plan of what is typed, as the part of the page that shows it; nothing is saved."""
    form, _ = await _read(request, fields_of(await read_form(request, session, WRITE_EXPERIMENTS)))
    plan, wrong = await on_page_thread(request, typed_plan, form)
    return await render(request, "draft_plan.html", plan=plan, wrong=wrong)
