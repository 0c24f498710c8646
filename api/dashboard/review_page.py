"""Page of an experiment's reviews: asked for, approved and withdrawn."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.experiments import address_of
from api.dashboard.form_permissions import WRITE_EXPERIMENTS
from api.dashboard.forms import SentForm, read_form
from api.dashboard.operations import ask, content_of, read, sentence_of
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from engine.design.reviewing import STARTABLE

# Buttons of the page, and the operation that each asks for.
_OPERATIONS: Final = {"review": "review", "approve": "approve", "withdraw": "review/withdraw"}


@signed_in
async def show_reviews(request: Request, session: SignedIn) -> Response:
    """Show the reviews of an experiment, and what can be done about those that are open."""
    return await _page(request, session)


@signed_in
async def answer_review(request: Request, session: SignedIn) -> Response:
    """Ask for a review, approve or withdraw; what is refused is shown with the reason."""
    form = await read_form(request, session, WRITE_EXPERIMENTS)
    operation = _OPERATIONS.get(str(form.get("action")))
    if operation is None:
        raise PageError(422, "This form cannot be read.")
    body = {"purpose": str(form.get("purpose")), "note": str(form.get("note", "")).strip() or None}
    path = f"{address_of(request)}/{operation}"
    answer = await ask(request, session, path, method="POST", body=body, idempotency_key=form.submission_key)
    if answer.status != 422:
        content_of(answer)
        return redirect(f"{address_of(request)}/review")
    return await _page(request, session, form=form, problem=sentence_of(answer.content or {}))


async def _page(
    request: Request, session: SignedIn, *, form: SentForm | None = None, problem: str | None = None
) -> Response:
    experiment: dict[str, Any] = (await read(request, session, address_of(request)))["data"]
    reviews = experiment["reviews"]
    return await render(
        request,
        "reviews.html",
        status=422 if problem else 200,
        session=session,
        address=address_of(request),
        experiment=experiment,
        reviews=reviews[::-1],
        may_ask=experiment["status"] in STARTABLE
        and not any(one["purpose"] == "start" and one["state"] in {"waiting", "approved"} for one in reviews),
        note=form.get("note", "") if form else "",
        problem=problem,
    )
