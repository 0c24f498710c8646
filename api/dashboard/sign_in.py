"""Pages to sign in with an API key, and to sign out."""

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard import sessions
from api.dashboard.forms import read_button, read_public_form
from api.dashboard.page_answers import HEADERS, public, redirect, render, signed_in
from api.dashboard.sessions import SignedIn, end_session, set_cookie
from api.dashboard.typed_forms import typed_address
from api.errors import ApiError


@public
async def show_sign_in(request: Request) -> Response:
    """Show the form; a browser with a session goes on."""
    if await sessions.find_session(request) is not None:
        return redirect(_own_address(request.query_params.get("next")))
    return await _form(request, request.query_params.get("next", ""))


@public
async def sign_in(request: Request) -> Response:
    """Begin a session with the key of the form; the session before, if any, ends."""
    form = await read_public_form(request)
    wanted = str(form.get("next") or "")
    try:
        secret = await sessions.sign_in(request, str(form.get("key") or "").strip())
    except ApiError as error:
        is_unknown = error.code == "invalid_api_key"
        problem = "This is no valid API key, or it was revoked." if is_unknown else error.message
        refused = await _form(request, wanted, status=401 if is_unknown else 402, problem=problem)
        if retry_after := error.headers.get("Retry-After"):
            refused.headers["Retry-After"] = retry_after
        return refused
    await end_session(request)
    answer = redirect(_own_address(wanted))
    set_cookie(request, answer, secret)
    return answer


@public
async def sign_in_by_link(request: Request) -> Response:
    """Begin a session with a link of the command line, which works once; the session before, if any, ends."""
    if request.method == "HEAD":
        # Programs look at links before people follow them: nothing is used up, and nothing told.
        return Response(headers=HEADERS)
    api_token = await sessions.take_link(request, request.path_params["secret"])
    secret = await sessions.sign_in(request, api_token)
    await end_session(request)
    answer = redirect(typed_address(request) or "/")
    set_cookie(request, answer, secret)
    return answer


@signed_in
async def sign_out(request: Request, session: SignedIn) -> Response:
    """End the session."""
    await read_button(request, session)
    await end_session(request)
    answer = redirect("/sign-in")
    answer.delete_cookie(sessions.COOKIE)
    return answer


async def _form(request: Request, wanted: str, *, status: int = 200, problem: str | None = None) -> Response:
    is_typed = typed_address(request) is not None
    return await render(
        request, "sign_in.html", status=status, problem=problem, next=wanted, is_typed=is_typed
    )


def _own_address(wanted: str | None) -> str:
    """Return a path of this service; "/" for anything that could lead elsewhere."""
    if not wanted or not wanted.startswith("/") or wanted.startswith(("//", "/\\")):
        return "/"
    return wanted if wanted.isprintable() else "/"
