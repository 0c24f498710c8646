"""Pages of the share links of an experiment: creation, which shows a link once, the list, and revocation."""

from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlsplit

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.drafts.field_problems import Problems, problems_of
from api.dashboard.experiments import address_of
from api.dashboard.form_permissions import WRITE_EXPERIMENTS
from api.dashboard.forms import read_button, read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import redirect, render, signed_in
from api.dashboard.project_pages.record_form import NUMBER
from api.dashboard.sessions import SignedIn
from pipeline.clock import utc_now
from pipeline.requests.share_links import DEFAULT_DAYS, MOST_DAYS

FIELDS: Final = ("days",)


@signed_in
async def show_links(request: Request, session: SignedIn) -> Response:
    """Show the links of an experiment, and the form of a new one."""
    return await _page(request, session)


@signed_in
async def create_link(request: Request, session: SignedIn) -> Response:
    """Create a link, and show its address this once."""
    form = await read_form(request, session, WRITE_EXPERIMENTS)
    body: dict[str, Any] = {"shows_money": form.get("shows_money") == "yes"}
    if days := str(form.get("days") or "").strip():
        body["days"] = NUMBER(days)
    path = f"{address_of(request)}/share_links"
    answer = await ask(request, session, path, method="POST", body=body, idempotency_key=form.submission_key)
    if problems := problems_of(answer, FIELDS):
        return await _page(request, session, form=form, problems=problems, status=answer.status)
    return await _page(request, session, created=content_of(answer)["data"])


@signed_in
async def revoke_link(request: Request, session: SignedIn) -> Response:
    """Revoke a link."""
    await read_button(request, session)
    link_id = quote(request.path_params["link_id"], safe="")
    path = f"{address_of(request)}/share_links/{link_id}"
    content_of(await ask(request, session, path, method="DELETE"))
    return redirect(f"{address_of(request)}/share")


async def _page(  # noqa: PLR0913 - what a page shows
    request: Request,
    session: SignedIn,
    *,
    created: dict[str, Any] | None = None,
    form: FormData | None = None,
    problems: Problems | None = None,
    status: int = 200,
) -> Response:
    address = address_of(request)
    experiment = (await read(request, session, address))["data"]
    links = (await read(request, session, f"{address}/share_links"))["data"]
    now, base_url = utc_now(), str(request.app.state.services.settings.base_url)
    return await render(
        request,
        "share.html",
        session=session,
        status=status,
        address=address,
        experiment=experiment,
        links=[{**one, "is_open": _is_open(one, now)} for one in links],
        created=created,
        base_url=base_url,
        is_elsewhere=urlsplit(base_url).netloc != request.url.netloc,
        form=form or FormData({"days": str(DEFAULT_DAYS)}),
        most_days=MOST_DAYS,
        problems=problems or {},
    )


def _is_open(link: dict[str, Any], now: datetime) -> bool:
    return link["revoked_at"] is None and datetime.fromisoformat(link["expires_at"]) > now
