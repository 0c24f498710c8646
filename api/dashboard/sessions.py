"""Sessions: the cookie of a signed-in browser, and the protection of its forms."""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from cryptography.fernet import InvalidToken
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from api.auth import authenticate, require_served
from api.dashboard.page_errors import OldFormError, PageError
from api.services import Services
from pipeline.clock import utc_now
from pipeline.store.catalog.keys import RefusedKey
from pipeline.store.catalog.sign_in.session_repository import LONGEST

COOKIE: Final = "truelift_session"
FORM_FIELD: Final = "form_token"
_SAME_SITE: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A browser with a session: the token of its API key, and the token of its forms."""

    api_token: str
    form_token: str


async def sign_in(request: Request, api_token: str) -> str:
    """Begin a session with an API key, and return its secret; ApiError 401 and 402."""

    def begin() -> str:
        services: Services = request.app.state.services
        note = partial(services.key_refusals.note, request, "sign_in")
        caller = authenticate(api_token, services.catalog, utc_now(), note)
        if not caller.account.is_served:
            note(RefusedKey("inactive", caller.key))
        require_served(caller)
        encrypted = services.cipher.encrypt(api_token.encode())
        return services.catalog.sessions.create(caller.account.id, caller.key.id, encrypted, now=utc_now())

    return await run_in_threadpool(begin)


async def take_link(request: Request, secret: str) -> str:
    """Use up a link of the command line, and return the token of its API key; PageError 404."""

    def take() -> bytes | None:
        services: Services = request.app.state.services
        encrypted = services.catalog.sign_in_links.take(secret, now=utc_now())
        try:
            return None if encrypted is None else services.cipher.decrypt(encrypted)
        except InvalidToken:
            # The encryption key was replaced.
            return None

    token = await run_in_threadpool(take)
    if token is None:
        services: Services = request.app.state.services
        services.key_refusals.note(request, "sign_in_link", RefusedKey("unknown"))
        raise PageError(404, "This link was used, or is older than a minute. Run `truelift open` again.")
    return token.decode()


async def find_session(request: Request) -> SignedIn | None:
    """Return the session of a request's cookie; None without one that goes on."""
    secret = request.cookies.get(COOKIE)
    if not secret:
        return None

    def find() -> SignedIn | None:
        services: Services = request.app.state.services
        session = services.catalog.sessions.find(secret, now=utc_now())
        if session is None:
            return None
        try:
            token = services.cipher.decrypt(session.token).decode()
        except InvalidToken:
            # The encryption key was replaced.
            return None
        return SignedIn(token, _form_token(secret))

    return await run_in_threadpool(find)


async def end_session(request: Request) -> None:
    """End the session of a request, if there is one."""
    secret = request.cookies.get(COOKIE)
    if secret:
        services: Services = request.app.state.services
        await run_in_threadpool(services.catalog.sessions.end, secret)


def set_cookie(
    request: Request, response: Response, secret: str, *, name: str = COOKIE, lifetime: timedelta = LONGEST
) -> None:
    """Give a browser a secret, of its session if not named otherwise, which no script can read."""
    response.set_cookie(
        name,
        secret,
        max_age=int(lifetime.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def require_own_site(request: Request) -> None:
    """Require that a form was sent from a page of the dashboard; PageError 403."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        is_own = site in _SAME_SITE
    else:
        # Older browsers; a client that sends neither is no browser, which a page could misuse.
        is_own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not is_own:
        raise PageError(403, "This form was sent from another site.")


def require_form_token(session: SignedIn, form: FormData) -> None:
    """Require the token of the session's forms; OldFormError."""
    given = form.get(FORM_FIELD)
    if not isinstance(given, str) or not hmac.compare_digest(given, session.form_token):
        raise OldFormError


def _form_token(secret: str) -> str:
    return hmac.new(secret.encode(), b"form", hashlib.sha256).hexdigest()
