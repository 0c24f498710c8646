"""Pages: templates, the headers of every page, and errors in plain words."""

import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.dashboard import formats
from api.dashboard.forms import read_unsigned_form
from api.dashboard.page_errors import NotSignedInError, OldFormError, PageError
from api.dashboard.page_threads import on_page_thread
from api.dashboard.project_switch import switch_of
from api.dashboard.results_page.result_formats import FILTERS as RESULT_FILTERS
from api.dashboard.sessions import FORM_FIELD, SignedIn, end_session, find_session
from api.dashboard.static_files import address_of
from api.dashboard.typed_forms import keep_typed, seal_of
from api.errors import ANSWERED, answer_to

logger = logging.getLogger(__name__)

FOLDER: Final = Path(__file__).parent / "templates"
SIGN_IN: Final = "/sign-in"
HEADERS: Final = {
    # Charts are SVG with classes: no style within the page, and nothing is loaded from elsewhere.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# What most pages have is a hundredth of it.
MAX_PAGE_BYTES: Final = 4 * 2**20
TOO_LARGE: Final = "There is too much for a page. Ask the API, which answers with all of it."
TITLES: Final = {
    403: "Not allowed",
    404: "Not found",
    409: "Not possible now",
    422: "Not valid",
    429: "Too many requests",
    503: "Not possible now",
}

Page = Callable[[Request, SignedIn], Awaitable[Response]]
Handler = Callable[[Request], Awaitable[Response]]

_templates: Final = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(formats.FILTERS | RESULT_FILTERS)
_templates.globals.update(static=address_of, form_field=FORM_FIELD, seal_of=seal_of)


async def render(
    request: Request, template: str, *, session: SignedIn | None = None, status: int = 200, **values: object
) -> HTMLResponse:
    """Answer with a page, written on the threads of pages; PageError 422 for one that is too large."""
    switch = None if session is None else await switch_of(request, session)
    shown = {"request": request, "session": session, "switch": switch, **values}
    shown.setdefault("submission", secrets.token_urlsafe(16))
    content = await on_page_thread(request, write_page, template, shown)
    return HTMLResponse(content, status_code=status, headers=HEADERS)


def write_page(template: str, values: dict[str, object]) -> bytes:
    """Write a page, and no more of it than a page may have."""
    parts, size = [], 0
    for text in _templates.get_template(template).generate(values):
        parts.append(text.encode())
        size += len(parts[-1])
        if size > MAX_PAGE_BYTES:
            raise PageError(422, TOO_LARGE)
    return b"".join(parts)


def signed_in(page: Page) -> Handler:
    """Serve a page to signed-in browsers; others are led to the sign-in, and back."""

    @public
    @wraps(page)
    async def serve(request: Request) -> Response:
        session = await find_session(request)
        if session is None:
            return await _to_sign_in(request)
        try:
            return await page(request, session)
        except NotSignedInError:
            # Of a key that was revoked: the sign-in would lead a browser with a session back here.
            await end_session(request)
            return await _to_sign_in(request)
        except OldFormError as error:
            again = redirect(request.url.path)
            if await _keep_typed(request, again):
                return again
            return await error_page(request, error.status, error.message, session)
        except PageError as error:
            return await error_page(request, error.status, error.message, session)

    return serve


def public(page: Handler) -> Handler:
    """Serve a page that needs no session, with its errors as pages."""

    @wraps(page)
    async def serve(request: Request) -> Response:
        try:
            return await page(request)
        except PageError as error:
            return await error_page(request, error.status, error.message)
        except ANSWERED as error:
            refused = answer_to(request, error)
            message = json.loads(bytes(refused.body))["error"]["message"]
            return await error_page(request, refused.status_code, message)
        except ClientDisconnect:
            raise
        except Exception:
            # A browser shows a page, and the log has the reason.
            request_id = request.state.request_id
            logger.exception("page %s failed, request %s", request.url.path, request_id)
            return await error_page(
                request, 500, f"Something went wrong on our side. Quote the request {request_id}."
            )

    return serve


async def error_page(
    request: Request, status: int, message: str, session: SignedIn | None = None
) -> HTMLResponse:
    """Answer with an error in plain words."""
    title = TITLES.get(status, "This did not work")
    return await render(request, "error.html", session=session, status=status, title=title, message=message)


def redirect(address: str) -> RedirectResponse:
    """Lead to another page after a form."""
    return RedirectResponse(address, status_code=303, headers={"Cache-Control": "no-store"})


async def _to_sign_in(request: Request) -> Response:
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = redirect(f"{SIGN_IN}?next={quote(wanted)}")
    if request.method == "GET":
        return back if wanted != "/" else redirect(SIGN_IN)
    with suppress(PageError):
        if await _keep_typed(request, back):
            return back
    return redirect(SIGN_IN)


async def _keep_typed(request: Request, answer: Response) -> bool:
    return await on_page_thread(request, keep_typed, request, await read_unsigned_form(request), answer)
