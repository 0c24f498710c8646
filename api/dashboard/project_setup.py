"""Pages that create a project and connect its site."""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.drafts.field_problems import problems_of
from api.dashboard.form_permissions import CHANGE_PROJECTS, CREATE_PROJECTS, require
from api.dashboard.forms import read_form
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import HEADERS, redirect, render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from api.dashboard.typed_forms import typed_form
from engine.currencies import CURRENCIES
from engine.vocabulary import Platform, words

_CURRENCY: Final = "settings.revenue_currency"
FIELDS: Final = ("name", "url", "platform", "reporting_timezone", _CURRENCY)
# Blocks of the installation: the field of the API's answer, its heading, and what it is for.
BLOCKS: Final = (
    (
        "snippet_html",
        "Snippet",
        (
            "At the start of the head of every page, before what it may change. In the body or in a tag "
            "manager it comes after the page was seen: new visitors then see the original and are not "
            'counted. The health check "Late visits" of an experiment has their share.'
        ),
    ),
    (
        "async_snippet_html",
        "Without an inline script",
        "Instead, where a page allows none. The original may be seen first.",
    ),
    ("content_security_policy", "Content-Security-Policy", "What a page with such a header has to allow."),
    ("tracking_snippet", "Report an order", "On the page that thanks for an order."),
    ("storefront_pixel_code", "Customer events of the store", "In the store's settings of customer events."),
)
# Choices of consent: what each is, and the settings that it stands for.
CONSENT: Final = {
    "none": ("nobody is asked", {"require_consent": None, "consent_source": None}),
    "page": ("the page, by truelift.consent(true)", {"require_consent": True, "consent_source": None}),
    "google_consent_mode": (
        "Google consent mode, by analytics_storage",
        {"require_consent": None, "consent_source": "google_consent_mode"},
    ),
    "tcf": ("a TCF platform, by purposes 1 and 8", {"require_consent": None, "consent_source": "tcf"}),
}


@signed_in
async def show_new_project(request: Request, session: SignedIn) -> Response:
    """Show the form of a new project."""
    await require(request, session, CREATE_PROJECTS)
    with typed_form(request) as typed:
        fields = typed or {"platform": "custom_js"}
        return await _form(request, session, {name: fields.get(name, "") for name in FIELDS})


@signed_in
async def create_project(request: Request, session: SignedIn) -> Response:
    """Create a project, and lead to its installation."""
    sent = await read_form(request, session, CREATE_PROJECTS)
    form = {name: str(sent.get(name) or "").strip() for name in FIELDS}
    body: dict[str, Any] = {name: value for name, value in form.items() if value or name in {"name", "url"}}
    if currency := body.pop(_CURRENCY, None):
        body["settings"] = {"revenue_currency": currency.upper()}
    answer = await ask(
        request, session, "/projects", method="POST", body=body, idempotency_key=sent.submission_key
    )
    if answer.status == 201:
        return redirect(f"/projects/{content_of(answer)['data']['id']}/installation")
    return await _form(request, session, form, problems=problems_of(answer, FIELDS), status=answer.status)


@signed_in
async def show_installation(request: Request, session: SignedIn) -> Response:
    """Show the code that connects the site, whether it was seen, and the form that checks a page."""
    return await installation_page(request, session, page=request.query_params.get("page", ""))


async def installation_page(  # noqa: PLR0913 - what the form of the check has
    request: Request,
    session: SignedIn,
    *,
    page: str,
    status: int = 200,
    address: str | None = None,
    problem: str | None = None,
) -> Response:
    """Answer with the installation, and the address that opens a checked page or what is wrong with it."""
    path = project_address(request)
    project = (await read(request, session, path))["data"]
    installation = (await read(request, session, f"{path}/installation"))["data"]
    base_url = str(request.app.state.services.settings.base_url)
    return await render(
        request,
        "installation.html",
        session=session,
        status=status,
        base_url=base_url,
        is_elsewhere=urlsplit(base_url).netloc != request.url.netloc,
        project=project,
        installation=installation,
        blocks=[(name, title, about) for name, title, about in BLOCKS if installation[name]],
        state=await _state(request, session),
        consent_choices={name: label for name, (label, _) in CONSENT.items()},
        consent=_consent_of(project["settings"]),
        page=page or project["url"],
        address=address,
        problem=problem,
        bookmark=f"{request.url.scheme}://{request.url.netloc}{path}/installation?page=",
    )


@signed_in
async def change_consent(request: Request, session: SignedIn) -> Response:
    """Change who asks the visitors of a project for consent."""
    sent = await read_form(request, session, CHANGE_PROJECTS)
    choice = CONSENT.get(str(sent.get("consent")))
    if choice is None:
        raise PageError(422, f"Consent is one of {', '.join(CONSENT)}.")
    body = {"settings": choice[1]}
    content_of(await ask(request, session, project_address(request), method="PATCH", body=body))
    return redirect(f"{project_address(request)}/installation#consent")


def _consent_of(settings: Mapping[str, Any]) -> str:
    return settings.get("consent_source") or ("page" if settings.get("require_consent") else "none")


@signed_in
async def answer_state(request: Request, session: SignedIn) -> Response:
    """Answer whether the site was seen, for the page that waits for it."""
    state = await _state(request, session)
    return Response(json.dumps(state), media_type="application/json", headers=HEADERS)


async def _state(request: Request, session: SignedIn) -> dict[str, Any]:
    project = (await read(request, session, project_address(request)))["data"]
    stats = await ask(request, session, f"{project_address(request)}/stats")
    # They are computed later where the service is busy.
    visitors = content_of(stats)["data"]["total_visitors"] if stats.status == 200 else 0
    return {"is_seen": project["snippet_verified"] or visitors > 0, "visitors": visitors}


async def _form(
    request: Request,
    session: SignedIn,
    form: dict[str, str],
    *,
    problems: dict[str, list[str]] | None = None,
    status: int = 200,
) -> Response:
    return await render(
        request,
        "new_project.html",
        session=session,
        status=status,
        form=form,
        problems=problems or {},
        platforms=words(Platform),
        currencies=sorted(CURRENCIES),
    )
