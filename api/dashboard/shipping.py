"""Pages of a decision: the form that ships a variant or keeps the control, and the end of a rollout."""

from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.computed_results import compute_results
from api.dashboard.decision_content import KEEP, DecisionContent, decision_content
from api.dashboard.experiments import address_of
from api.dashboard.form_permissions import WRITE_EXPERIMENTS
from api.dashboard.forms import SentForm, read_button, read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from engine.design.shipping import DECIDABLE

# Of the choice; every other one is the id of a variant to ship.
KEPT = (KEEP, "inconclusive")


@signed_in
async def show_decision(request: Request, session: SignedIn) -> Response:
    """Show the form of a decision, filled in as the verdict recommends."""
    experiment = (await read(request, session, address_of(request)))["data"]
    if experiment["conclusion"] or experiment["status"] not in DECIDABLE:
        raise PageError(422, "This experiment waits for no decision.")
    return await _form(request, session, experiment)


@signed_in
async def send_decision(request: Request, session: SignedIn) -> Response:
    """Decide as the form says; one that is refused is shown again with what was typed."""
    form = await read_form(request, session, WRITE_EXPERIMENTS)
    address, choice = address_of(request), str(form.get("choice", ""))
    body: dict[str, Any] = {"decision": choice, "note": str(form.get("note", "")).replace("\r\n", "\n")}
    if choice not in KEPT:
        body |= {"decision": "ship", "variant_id": choice or None, "rollout": form.get("rollout") != "no"}
        body["accept_risks"] = sorted({str(risk) for risk in form.getlist("risk")})
    asks_for_review = form.get("action") == "review"
    if asks_for_review:
        body["purpose"] = body.pop("decision")
    path = f"{address}/{'review' if asks_for_review else 'ship'}"
    answer = await ask(request, session, path, method="POST", body=body, idempotency_key=form.submission_key)
    if answer.status != 422:
        content_of(answer)
        return redirect(f"{address}/review" if asks_for_review else address)
    experiment = (await read(request, session, address))["data"]
    return await _form(request, session, experiment, form=form, error=(answer.content or {})["error"])


@signed_in
async def confirm_rollout_end(request: Request, session: SignedIn) -> Response:
    """Ask for the confirmation that a rollout is ended."""
    experiment = (await read(request, session, address_of(request)))["data"]
    return await render(
        request, "end_rollout.html", session=session, address=address_of(request), experiment=experiment
    )


@signed_in
async def end_rollout(request: Request, session: SignedIn) -> Response:
    """End a rollout that was confirmed."""
    await read_button(request, session)
    content_of(await ask(request, session, f"{address_of(request)}/rollout/end", method="POST"))
    return redirect(address_of(request))


async def _form(
    request: Request,
    session: SignedIn,
    experiment: dict[str, Any],
    *,
    form: SentForm | None = None,
    error: dict[str, Any] | None = None,
) -> Response:
    found = DecisionContent()
    # A key that reads no results may decide; open risks are then named by the refusal.
    with suppress(PageError):
        found = await compute_results(request, session, decision_content)
    details = (error or {}).get("details", [])
    requires_review = False
    with suppress(PageError):
        project = (await read(request, session, project_address(request)))["data"]
        requires_review = project["settings"].get("review") == "required"
    risks = dict(found.risks)
    if error and error["code"] == "open_risks":
        risks |= {one["field"]: one["message"] for one in details}
    return await render(
        request,
        "ship.html",
        status=422 if error else 200,
        session=session,
        address=address_of(request),
        experiment=experiment,
        content=found,
        risks=risks,
        chosen=form.get("choice") if form else found.recommended,
        is_rolled_out=not form or form.get("rollout") != "no",
        note=form.get("note", "") if form else "",
        accepted=form.getlist("risk") if form else [],
        error=error,
        requires_review=requires_review,
        details=[one for one in details if one["field"] not in risks],
    )
