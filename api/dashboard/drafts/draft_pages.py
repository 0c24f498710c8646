"""Pages that create and edit a draft."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypedDict, Unpack
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.drafts.choice_words import CHOICE_WORDS
from api.dashboard.drafts.draft_form import (
    Form,
    body_of,
    changes_of,
    form_of,
    form_sent,
    new_form,
    with_row,
)
from api.dashboard.drafts.draft_plan import DraftPlan, has_baseline, plan_of
from api.dashboard.drafts.draft_steps import any_problem, statistics_sentence, steps_of
from api.dashboard.drafts.field_paths import pattern_of
from api.dashboard.drafts.field_problems import ABOVE, problems_by_field
from api.dashboard.drafts.form_fields import CHECKED, CHOICES, CONDITION, MEASURE_KEYS
from api.dashboard.drafts.form_rows import RowsError, row_counts, without_row
from api.dashboard.drafts.opened_revision import OpenedRevision, SavedField
from api.dashboard.drafts.payload_text import payload_problems
from api.dashboard.experiments import address_of
from api.dashboard.form_permissions import WRITE_EXPERIMENTS, require
from api.dashboard.formats import words
from api.dashboard.forms import fields_of, read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import NotSignedInError, PageError
from api.dashboard.page_threads import on_page_thread
from api.dashboard.sessions import SignedIn
from api.dashboard.typed_forms import typed_form
from api.in_process import OperationAnswer

_MOST_METRICS: Final = 100
# The second is asked for where the experiment, but nothing of its form, has changed.
_SAVES: Final = 2


class _Shown(TypedDict, total=False):
    """The experiment that a form is of, and its revision when the form was opened."""

    experiment: Mapping[str, Any]
    opened: OpenedRevision


@signed_in
async def show_new_draft(request: Request, session: SignedIn) -> Response:
    """Show the form of a new draft."""
    await require(request, session, WRITE_EXPERIMENTS)
    await read(request, session, _project(request))
    with typed_form(request) as typed:
        form = new_form() if typed is None else (await _read(request, typed))[0]
        return await _answer(request, session, form, is_typed=typed is not None)


@signed_in
async def show_draft(request: Request, session: SignedIn) -> Response:
    """Show the form of an experiment."""
    await require(request, session, WRITE_EXPERIMENTS)
    experiment, form, opened = await _opened(request, session)
    with typed_form(request) as typed:
        if typed is not None:
            form, opened = await _read(request, typed)
        return await _answer(
            request, session, form, experiment=experiment, opened=opened, is_typed=typed is not None
        )


@signed_in
async def send_new_draft(request: Request, session: SignedIn) -> Response:
    """Create a draft, or answer another button of the form."""
    sent = await read_form(request, session, WRITE_EXPERIMENTS)
    fields = fields_of(sent)
    form, _ = await _read(request, fields)
    if (action := fields.get("action", "save")) != "save":
        return await _change_form(request, session, form, action)
    if problems := await on_page_thread(request, payload_problems, form):
        return await _answer(request, session, form, problems=problems, status=422)
    answer = await ask(
        request,
        session,
        f"{_project(request)}/experiments",
        method="POST",
        body=await on_page_thread(request, body_of, form),
        idempotency_key=sent.submission_key,
    )
    if answer.status == 201:
        return redirect(f"{_project(request)}/experiments/{content_of(answer)['data']['id']}")
    return await _refused(request, session, form, answer)


@signed_in
async def send_draft(request: Request, session: SignedIn) -> Response:
    """Change an experiment, or answer another button of the form."""
    fields = fields_of(await read_form(request, session, WRITE_EXPERIMENTS))
    form, opened = await _read(request, fields)
    experiment = (await read(request, session, address_of(request)))["data"]
    if (action := fields.get("action", "save")) != "save":
        return await _change_form(request, session, form, action, experiment=experiment, opened=opened)
    shown: _Shown = {"experiment": experiment, "opened": opened}
    if problems := await on_page_thread(request, payload_problems, form):
        return await _answer(request, session, form, problems=problems, status=422, **shown)
    saved: list[SavedField] = []
    for _ in range(_SAVES):
        changes = await on_page_thread(request, changes_of, form, experiment)
        answer = await ask(
            request, session, address_of(request), method="PATCH", body=changes, if_match=opened.tag
        )
        if answer.status == 200:
            return redirect(address_of(request))
        if answer.status != 412:
            return await _refused(request, session, form, answer, experiment=experiment, opened=opened)
        experiment, current, now = await _opened(request, session)
        form, saved = await on_page_thread(request, opened.merged, form, current, fields)
        opened = now
        # Where nothing of the form has changed, such as by a pause, nothing can be lost.
        if saved:
            break
    return await _answer(
        request, session, form, experiment=experiment, opened=opened, saved=saved, status=412
    )


async def _opened(request: Request, session: SignedIn) -> tuple[dict[str, Any], Form, OpenedRevision]:
    """Read an experiment, its form, and the revision that the form is opened with."""
    answer = await ask(request, session, address_of(request))
    experiment: dict[str, Any] = content_of(answer)["data"]
    form = await on_page_thread(request, form_of, experiment)
    return experiment, form, await on_page_thread(request, OpenedRevision.of, answer.headers["etag"], form)


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
    **shown: Unpack[_Shown],
) -> Response:
    """Add or remove a row, or plan the sample; nothing is saved."""
    name, _, about = action.partition(":")
    if name == "add":
        form = await on_page_thread(request, with_row, form, about)
    elif name == "remove":
        form = await on_page_thread(request, _without_row, form, about)
    elif name == "take" and about.isdecimal():
        form = {**form, "statistics.planned_sample": about}
    elif name == "plan":
        _, problems = await on_page_thread(request, plan_of, form)
        return await _answer(
            request, session, form, problems=problems, status=422 if problems else 200, **shown
        )
    return await _answer(request, session, form, **shown)


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
    **shown: Unpack[_Shown],
) -> Response:
    """Show the form as it was sent, with the problems beside the fields."""
    if answer.status == 401:
        raise NotSignedInError
    problems = await on_page_thread(request, _problems_of, answer, form)
    return await _answer(request, session, form, problems=problems, status=answer.status, **shown)


def _problems_of(answer: OperationAnswer, form: Form) -> dict[str, list[str]]:
    """Return what is wrong by field."""
    error = (answer.content or {}).get("error", {})
    details = error.get("details", ())
    if not details:
        return {ABOVE: [str(error.get("message", "The request failed."))]}
    return problems_by_field(details, form)


async def _answer(  # noqa: PLR0913 - what a page shows
    request: Request,
    session: SignedIn,
    form: Form,
    *,
    experiment: Mapping[str, Any] | None = None,
    opened: OpenedRevision | None = None,
    saved: Sequence[SavedField] | None = None,
    problems: Mapping[str, list[str]] | None = None,
    is_typed: bool = False,
    status: int = 200,
) -> Response:
    problems = problems or {}
    targeting = (await read(request, session, "/capabilities/targeting_fields"))["data"]
    counts = await on_page_thread(request, row_counts, form)
    plan, wrong = await on_page_thread(request, _plan, form)
    return await render(
        request,
        "draft.html",
        session=session,
        status=status,
        project=_project(request),
        address=address_of(request) if experiment else f"{_project(request)}/experiments/new",
        experiment=experiment,
        opened=opened,
        saved=saved,
        is_typed=is_typed,
        form=form,
        problems=problems,
        plan=plan,
        wrong=wrong,
        steps=await on_page_thread(request, steps_of, form, problems),
        sentence=statistics_sentence(form),
        has_problem=partial(any_problem, problems),
        targeting=targeting,
        keyed=[name for name, field in targeting.items() if field["requires_key"]],
        metrics=await _metrics(request, session),
        measure_keys=MEASURE_KEYS,
        choices_of=lambda path: CHOICES[pattern_of(path)],
        said_as=lambda path, one: CHOICE_WORDS.get(pattern_of(path), {}).get(one) or words(one),
        rows_of=lambda rows: [f"{rows}[{index}]" for index in range(counts.get(rows, 0))],
        condition_rows=CONDITION,
    )


@signed_in
async def answer_plan(request: Request, session: SignedIn) -> Response:
    """Answer with the plan of what is typed, as the part of the page that shows it; nothing is saved."""
    form, _ = await _read(request, fields_of(await read_form(request, session, WRITE_EXPERIMENTS)))
    plan, wrong = await on_page_thread(request, _plan, form)
    return await render(request, "draft_plan.html", session=session, plan=plan, wrong=wrong)


def _plan(form: Form) -> tuple[DraftPlan | None, list[str]]:
    """Plan a form once the number that it starts from was typed; without a plan return what is wrong."""
    if not has_baseline(form):
        return None, []
    plan, problems = plan_of(form)
    return plan, [message for messages in problems.values() for message in messages]


async def _metrics(request: Request, session: SignedIn) -> list[dict[str, Any]]:
    """Read the metrics of the project that a goal can have."""
    listed = await read(request, session, f"{_project(request)}/metrics", {"per_page": _MOST_METRICS})
    metrics: list[dict[str, Any]] = listed["data"]
    return metrics


def _project(request: Request) -> str:
    return f"/projects/{quote(request.path_params['project_id'], safe='')}"
