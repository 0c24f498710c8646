"""Typed forms: what was typed outlives a session that ended before it was sent."""

from collections.abc import Mapping
from typing import Final

from cryptography.fernet import InvalidToken
from starlette.requests import Request
from starlette.responses import Response

from api.bodies.kept_forms import LONGEST
from api.dashboard.sessions import FORM_FIELD
from api.services import Services
from pipeline.clock import utc_now
from pipeline.store.catalog.sign_in.session_repository import LONGEST as LONGEST_SESSION

COOKIE: Final = "truelift_typed"
# Hidden field: shows that a page was made for a signed-in browser, so that no stranger's form is kept.
SEAL_FIELD: Final = "seal"
_LEFT_OUT: Final = frozenset({FORM_FIELD, SEAL_FIELD, "submission", "action"})


def seal_of(request: Request) -> str:
    """Seal the address of a page for the form on it."""
    services: Services = request.app.state.services
    return services.cipher.encrypt(request.url.path.encode()).decode()


def keep_typed(request: Request, fields: Mapping[str, str], answer: Response) -> bool:
    """Keep the fields of a sealed form for its browser; False for a form of another page or none."""
    if not _is_sealed(request, fields.get(SEAL_FIELD, "")):
        return False
    typed = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    services: Services = request.app.state.services
    secret = services.kept_forms.keep(request.url.path, typed, now=utc_now())
    answer.set_cookie(
        COOKIE,
        secret,
        max_age=int(LONGEST.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return True


def typed_address(request: Request) -> str | None:
    """Return the address of the form that is kept for a browser; None without one."""
    services: Services = request.app.state.services
    return services.kept_forms.address_of(request.cookies.get(COOKIE, ""), now=utc_now())


def take_typed(request: Request) -> Mapping[str, str] | None:
    """Return what a browser typed into the form of a page, once; None where nothing is kept."""
    services: Services = request.app.state.services
    return services.kept_forms.take(request.cookies.get(COOKIE, ""), request.url.path, now=utc_now())


def _is_sealed(request: Request, seal: str) -> bool:
    services: Services = request.app.state.services
    try:
        content = services.cipher.decrypt(seal.encode(), ttl=int(LONGEST_SESSION.total_seconds()))
    except InvalidToken:
        return False
    return content.decode() == request.url.path
