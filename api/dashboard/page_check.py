"""Check of an installation: a page of the site, which the person's own browser opens with a debug token.

The service itself fetches nothing.
"""

import json
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.form_permissions import READ_EXPERIMENTS, caller_of, refusals_as_pages
from api.dashboard.forms import read_form
from api.dashboard.page_answers import HEADERS, signed_in
from api.dashboard.project_setup import installation_page
from api.dashboard.sessions import SignedIn
from api.sdk.debug_tokens import SCOPE
from api.services import Services
from engine.url_resolution import resolve
from pipeline.assignment.snippet import is_own_page
from pipeline.clock import utc_now

# The fragment of an address reaches no server, and the snippet takes it off.
PARAMETER: Final = "truelift_debug"
MAX_LENGTH: Final = 2_048


@signed_in
async def start_page_check(request: Request, session: SignedIn) -> Response:
    """Answer with the address that opens a page with the panel: as JSON for the script, else as a link."""
    sent = await read_form(request, session, READ_EXPERIMENTS)
    page = str(sent.get("page") or "").strip()
    # Sent by the browser with the form: where its messages come from.
    origin = request.headers.get("origin") or f"{request.url.scheme}://{request.url.netloc}"
    with refusals_as_pages(request):
        address = await run_in_threadpool(_address, request, session, page, origin)
    problem = None if address else "Give the full address of a page on one of the project's hosts."
    status = 200 if address else 422
    if request.headers.get("accept") == "application/json":
        content = json.dumps({"address": address, "problem": problem})
        return Response(content, status, HEADERS, "application/json")
    return await installation_page(
        request, session, status=status, page=page, address=address, problem=problem
    )


def _address(request: Request, session: SignedIn, page: str, origin: str) -> str | None:
    """Return the address with a token; None for a page that is not on the project's hosts."""
    services: Services = request.app.state.services
    project = services.catalog.projects.find(request.path_params["project_id"])
    # As browsers read it: of https://a.example\@b.example/ they open a.example.
    address = resolve(page, page) if len(page) <= MAX_LENGTH else None
    if address is None or not is_own_page(project, address):
        return None
    key = caller_of(request, session, SCOPE).key
    token = services.debug_tokens.create(key, project.id, origin, now=utc_now())
    return f"{address}{'&' if '#' in address else '#'}{PARAMETER}={token}"
