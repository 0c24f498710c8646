"""Typed forms: what was typed outlives a session that ended before it was sent."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from cryptography.fernet import InvalidToken
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from api.bodies.kept_forms import LONGEST, KeptForm
from api.dashboard.forms import SUBMISSION, fields_of
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import FORM_FIELD, set_cookie
from api.services import Services
from pipeline.clock import utc_now
from pipeline.store.catalog.sign_in.session_repository import LONGEST as LONGEST_SESSION

COOKIE: Final = "truelift_typed"
# Hidden field: shows that a page was made for a signed-in browser, so that no stranger's form is kept.
SEAL_FIELD: Final = "seal"
# Of one browser: the cookie has their secrets, the newest first.
_MOST_FORMS: Final = 5
_BETWEEN: Final = "."
_LEFT_OUT: Final = frozenset({FORM_FIELD, SEAL_FIELD, "action"})


def seal_of(request: Request) -> str:
    """Seal the address of a page for the form on it."""
    services: Services = request.app.state.services
    return services.cipher.encrypt(request.url.path.encode()).decode()


def keep_typed(request: Request, form: FormData, answer: Response) -> bool:
    """Keep the fields of a sealed form for its browser; False for a form of another page or none."""
    fields = fields_of(form)
    if not _is_sealed(request, fields.get(SEAL_FIELD, "")):
        return False
    typed = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    services: Services = request.app.state.services
    secrets = [services.kept_forms.keep(request.url.path, typed, now=utc_now())]
    for secret, before in _kept(request):
        # The same form, sent once more.
        if before.fields.get(SUBMISSION) == typed.get(SUBMISSION):
            services.kept_forms.drop(secret)
        else:
            secrets.append(secret)
    set_cookie(request, answer, _BETWEEN.join(secrets[:_MOST_FORMS]), name=COOKIE, lifetime=LONGEST)
    return True


def typed_address(request: Request) -> str | None:
    """Return the address of the newest form that is kept for a browser; None without one."""
    return next((form.address for _, form in _kept(request)), None)


@contextmanager
def typed_form(request: Request) -> Iterator[Mapping[str, str] | None]:
    """Yield what a browser typed into the form of a page, None where nothing is kept; drop it once shown."""
    services: Services = request.app.state.services
    of_page = ((secret, form.fields) for secret, form in _kept(request) if form.address == request.url.path)
    secret, fields = next(of_page, ("", None))
    try:
        yield fields
    except PageError as error:
        # Of rows or bytes that no page has; after others, such as 429, the page is asked for again.
        if error.status == 422:
            services.kept_forms.drop(secret)
        raise
    services.kept_forms.drop(secret)


def _kept(request: Request) -> Iterator[tuple[str, KeptForm]]:
    services: Services = request.app.state.services
    for secret in request.cookies.get(COOKIE, "").split(_BETWEEN)[:_MOST_FORMS]:
        if form := services.kept_forms.find(secret, now=utc_now()):
            yield secret, form


def _is_sealed(request: Request, seal: str) -> bool:
    services: Services = request.app.state.services
    try:
        content = services.cipher.decrypt(seal.encode(), ttl=int(LONGEST_SESSION.total_seconds()))
    except InvalidToken:
        return False
    return content.decode() == request.url.path
