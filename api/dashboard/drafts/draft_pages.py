"""Pages that create and edit a draft."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.drafts.draft_form import (
    Form,
    body_of,
    changes_of,
    form_of,
    form_sent,
    new_form,
    with_row,
)
from api.dashboard.drafts.draft_sample import PLAN_FIELDS, question_of
from api.dashboard.drafts.field_paths import pattern_of, row_count, without_row
from api.dashboard.drafts.field_problems import ABOVE, problems_by_field
from api.dashboard.drafts.form_fields import CHECKED, CHOICES, CONDITION, MEASURE_KEYS
from api.dashboard.experiments import address_of
from api.dashboard.forms import read_form, submission_key
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import NotSignedInError
from api.dashboard.sessions import SignedIn
from api.in_process import OperationAnswer

_MOST_METRICS: Final = 100


@signed_in
async def show_new_draft(request: Request, session: SignedIn) -> Response:
    """Show the form of a new draft."""
    await read(request, session, _project(request))
    return await _answer(request, session, new_form())


@signed_in
async def show_draft(request: Request, session: SignedIn) -> Response:
    """Show the form of an experiment."""
    experiment = (await read(request, session, address_of(request)))["data"]
    return await _answer(request, session, form_of(experiment), experiment=experiment)


@signed_in
async def send_new_draft(request: Request, session: SignedIn) -> Response:
    """Create a draft, or answer another button of the form."""
    sent = await read_form(request, session)
    fields = {name: str(value) for name, value in sent.items()}
    form = form_sent(fields)
    if fields.get("action", "save") != "save":
        return await _change_form(request, session, form, fields["action"])
    answer = await ask(
        request,
        session,
        f"{_project(request)}/experiments",
        method="POST",
        body=body_of(form),
        idempotency_key=submission_key(sent),
    )
    if answer.status == 201:
        return redirect(f"{_project(request)}/experiments/{content_of(answer)['data']['id']}")
    return await _refused(request, session, form, answer)


@signed_in
async def send_draft(request: Request, session: SignedIn) -> Response:
    """Change an experiment, or answer another button of the form."""
    sent = await read_form(request, session)
    fields = {name: str(value) for name, value in sent.items()}
    form = form_sent(fields)
    experiment = (await read(request, session, address_of(request)))["data"]
    if fields.get("action", "save") != "save":
        return await _change_form(request, session, form, fields["action"], experiment=experiment)
    changes = changes_of(form, experiment)
    answer = await ask(request, session, address_of(request), method="PATCH", body=changes)
    if answer.status == 200:
        return redirect(address_of(request))
    return await _refused(request, session, form, answer, experiment=experiment)


async def _change_form(
    request: Request,
    session: SignedIn,
    form: Form,
    action: str,
    *,
    experiment: Mapping[str, Any] | None = None,
) -> Response:
    """Add or remove a row, or plan the sample; nothing is saved."""
    name, _, about = action.partition(":")
    if name == "add":
        form = with_row(form, about)
    elif name == "remove":
        form = _with_marks(without_row(form, about))
    elif name == "take" and about.isdecimal():
        form = {**form, "statistics.planned_sample": about}
    elif name == "plan":
        answer = await ask(request, session, "/tools/sample_size", method="POST", body=question_of(form))
        if answer.status != 200:
            return await _refused(request, session, form, answer, experiment=experiment, names=PLAN_FIELDS)
        return await _answer(request, session, form, experiment=experiment, plan=content_of(answer)["data"])
    return await _answer(request, session, form, experiment=experiment)


def _with_marks(form: Form) -> Form:
    """Mark the first item of a list whose marked one was removed."""
    for rows, mark in (("variants", "is_control"), ("goals", "is_primary")):
        marks = [f"{rows}[{index}].{mark}" for index in range(row_count(form, rows))]
        if marks and not any(form[one] for one in marks):
            form[marks[0]] = CHECKED
    return form


async def _refused(  # noqa: PLR0913 - what a page shows
    request: Request,
    session: SignedIn,
    form: Form,
    answer: OperationAnswer,
    *,
    experiment: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Response:
    """Show the form as it was sent, with the problems beside the fields."""
    if answer.status == 401:
        raise NotSignedInError
    error = (answer.content or {}).get("error", {})
    details = [
        {**one, "field": (names or {}).get(one["field"], one["field"])} for one in error.get("details", ())
    ]
    problems = problems_by_field(details, form)
    if not details:
        problems[ABOVE] = [str(error.get("message", "The request failed."))]
    return await _answer(
        request, session, form, experiment=experiment, problems=problems, status=answer.status
    )


async def _answer(  # noqa: PLR0913 - what a page shows
    request: Request,
    session: SignedIn,
    form: Form,
    *,
    experiment: Mapping[str, Any] | None = None,
    problems: Mapping[str, list[str]] | None = None,
    plan: Mapping[str, Any] | None = None,
    status: int = 200,
) -> Response:
    targeting = (await read(request, session, "/capabilities/targeting_fields"))["data"]
    return render(
        request,
        "draft.html",
        session=session,
        status=status,
        project=_project(request),
        address=address_of(request) if experiment else f"{_project(request)}/experiments/new",
        experiment=experiment,
        form=form,
        problems=problems or {},
        plan=plan,
        targeting=targeting,
        keyed=[name for name, field in targeting.items() if field["requires_key"]],
        metrics=await _metrics(request, session),
        measure_keys=MEASURE_KEYS,
        choices_of=lambda path: CHOICES[pattern_of(path)],
        rows_of=lambda rows: [f"{rows}[{index}]" for index in range(row_count(form, rows))],
        condition_rows=CONDITION,
    )


async def _metrics(request: Request, session: SignedIn) -> list[dict[str, Any]]:
    """Read the metrics of the project that a goal can have."""
    listed = await read(request, session, f"{_project(request)}/metrics", {"per_page": _MOST_METRICS})
    metrics: list[dict[str, Any]] = listed["data"]
    return metrics


def _project(request: Request) -> str:
    return f"/projects/{quote(request.path_params['project_id'], safe='')}"
