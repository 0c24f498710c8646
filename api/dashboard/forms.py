"""Forms that browsers send: from a page of the dashboard, and no larger than a request of the API."""

import hashlib
from functools import partial
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from api.bodies.reader import MAX_BODY_BYTES, media_type_of, read_limited
from api.dashboard.form_permissions import Permission, require
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn, require_form_token, require_own_site
from api.errors import ApiError
from api.off_loop import off_loop

# Hidden field: a number of the form shown, so that sending it twice does its work once.
SUBMISSION: Final = "submission"
ENCODED = "application/x-www-form-urlencoded"
# Of a stranger's form: nobody is signed in yet.
PUBLIC_BYTES: Final = 64 * 1024
PUBLIC_FIELDS: Final = 100
_MOST_FIELDS: Final = 20_000


class SentForm(FormData):
    """The fields of a form, with the idempotency key of what was sent."""

    def __init__(self, body: bytes, *, max_fields: int) -> None:
        """Decode the body; ValueError for what is no form, or has too many fields."""
        # Bytes that are no UTF-8 become replacement characters, as they do in the query of an address.
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=max_fields)
        values: list[tuple[str, str | UploadFile]] = [(name, value) for name, value in pairs]
        super().__init__(values)
        # Equal where the same form is sent twice with the same content; a corrected one has another.
        self.submission_key = hashlib.sha256(body).hexdigest() if self.get(SUBMISSION) else None


async def read_form(request: Request, session: SignedIn, permission: Permission) -> SentForm:
    """Read a form of a session whose key may send it; PageError 403, 404, 413, 415, 422, 429."""
    require_own_site(request)
    await require(request, session, permission)
    form = await read_unsigned_form(request)
    require_form_token(session, form)
    return form


async def read_button(request: Request, session: SignedIn) -> None:
    """Read a form of the session that is no more than a button; PageError 403, 413, 415, 422."""
    require_form_token(session, await read_public_form(request))


async def read_unsigned_form(request: Request) -> SentForm:
    """Read a form of any browser; PageError 403, 413, 415, 422."""
    require_own_site(request)
    return await _read(request, limit=MAX_BODY_BYTES, max_fields=_MOST_FIELDS)


def fields_of(form: FormData) -> dict[str, str]:
    """Return the fields of a form as texts."""
    return {name: str(value) for name, value in form.items()}


async def read_public_form(request: Request) -> SentForm:
    """Read a small form of a browser without a session; PageError 403, 413, 415, 422."""
    require_own_site(request)
    return await _read(request, limit=PUBLIC_BYTES, max_fields=PUBLIC_FIELDS)


async def _read(request: Request, *, limit: int, max_fields: int) -> SentForm:
    """Read a form from the connection once."""
    if not hasattr(request.state, "form"):
        request.state.form = await _receive(request, limit=limit, max_fields=max_fields)
    form: SentForm = request.state.form
    return form


async def _receive(request: Request, *, limit: int, max_fields: int) -> SentForm:
    if media_type_of(request, default="") != ENCODED:
        raise PageError(415, f"A form is sent as {ENCODED}.")
    try:
        body = await read_limited(
            request, limit=limit, too_large=f"This form is larger than {limit // 1024} kB."
        )
    except ApiError as error:
        raise PageError(413, error.message) from error
    try:
        return await off_loop(len(body), partial(SentForm, body, max_fields=max_fields))
    except ValueError as error:
        raise PageError(422, "This form cannot be read.") from error
