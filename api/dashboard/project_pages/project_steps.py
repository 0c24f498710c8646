"""Steps of a project: a new public key, the end of earlier ones, and deletion."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.drafts.field_problems import Problems, problems_of
from api.dashboard.form_permissions import CHANGE_PROJECTS, require
from api.dashboard.forms import read_form
from api.dashboard.operations import ask, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.project_pages.record_form import NUMBER
from api.dashboard.sessions import SignedIn


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its operation, what the page asks and says, and the field that it takes, if any."""

    method: str
    operation: str
    title: str
    sentence: str
    button: str
    field: str = ""
    label: str = ""
    value: str = ""


STEPS: Final[Mapping[str, Step]] = {
    "rotate_sdk_key": Step(
        "POST",
        "/rotate_sdk_key",
        "Replace the public key of “{name}”?",
        "Pages with the old code go on reporting until the earlier key ends: put the new code on them "
        "before. With 0 hours every earlier key stops at once.",
        "Replace",
        "grace_period_hours",
        "Hours for which earlier keys still work",
        "168",
    ),
    "expire_sdk_keys": Step(
        "POST",
        "/expire_sdk_keys",
        "End the earlier public keys of “{name}”?",
        "Pages that still have the code of an earlier key report nothing from now on. The current key works "
        "on.",
        "End them",
    ),
    "delete": Step(
        "DELETE",
        "",
        "Delete “{name}”?",
        "Its experiments, results, metrics, webhooks and all collected data are gone for good. The snippet "
        "does nothing any more. This cannot be undone.",
        "Delete for good",
        "project_name",
        "Type the name of the project",
    ),
}


@signed_in
async def confirm_project_step(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation of a step."""
    await require(request, session, CHANGE_PROJECTS)
    step = _step(request)
    return await _page(request, session, step, step.value)


@signed_in
async def take_project_step(request: Request, session: SignedIn) -> Response:
    """Take a step that was confirmed."""
    form = await read_form(request, session, CHANGE_PROJECTS)
    step, typed = _step(request), ""
    body: dict[str, Any] | None = None
    if step.field:
        typed = str(form.get(step.field) or "").strip()
    if step.field == "project_name":
        project = (await read(request, session, project_address(request)))["data"]
        if typed != project["name"]:
            problems = {step.field: [f"is not the name of the project, {project['name']}"]}
            return await _page(request, session, step, typed, problems=problems, status=422)
    elif step.field:
        body = {step.field: NUMBER(typed)} if typed else {}
    answer = await ask(
        request,
        session,
        f"{project_address(request)}{step.operation}",
        method=step.method,
        body=body,
        idempotency_key=form.submission_key,
    )
    if problems := problems_of(answer, (step.field,)):
        return await _page(request, session, step, typed, problems=problems, status=answer.status)
    is_gone = step.method == "DELETE"
    return redirect("/projects" if is_gone else f"{project_address(request)}/installation")


def _step(request: Request) -> Step:
    step = STEPS.get(request.path_params["step"])
    if step is None:
        raise PageError(404, "There is no page at this address.")
    return step


async def _page(  # noqa: PLR0913 - what the page shows
    request: Request,
    session: SignedIn,
    step: Step,
    typed: str,
    *,
    problems: Problems | None = None,
    status: int = 200,
) -> Response:
    project = (await read(request, session, project_address(request)))["data"]
    return await render(
        request,
        "confirm_form.html",
        session=session,
        status=status,
        title=step.title.format(name=project["name"]),
        sentence=step.sentence,
        address=request.url.path,
        button=step.button,
        back=f"{project_address(request)}/settings",
        back_name="Settings",
        step=step,
        form={step.field: typed},
        problems=problems or {},
    )
