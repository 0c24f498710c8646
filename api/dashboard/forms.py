"""Forms that browsers send: from a page of the dashboard, and no larger than a request of the API."""

import hashlib
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from api.bodies.reader import MAX_BODY_BYTES, media_type_of, read_limited
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn, require_form_token, require_own_site
from api.errors import ApiError

# Hidden field: a number of the form shown, so that sending it twice does its work once.
SUBMISSION: Final = "submission"
ENCODED = "application/x-www-form-urlencoded"
# Of a stranger's form: nobody is signed in yet.
PUBLIC_BYTES: Final = 64 * 1024
PUBLIC_FIELDS: Final = 100
_MOST_FIELDS: Final = 20_000


async def read_form(request: Request, session: SignedIn) -> FormData:
    """Read a form of the session; PageError 403, 413, 415, 422."""
    form = await _read(request, limit=MAX_BODY_BYTES, max_fields=_MOST_FIELDS)
    require_form_token(session, form)
    return form


async def read_public_form(request: Request) -> FormData:
    """Read a small form of a browser without a session; PageError 403, 413, 415, 422."""
    return await _read(request, limit=PUBLIC_BYTES, max_fields=PUBLIC_FIELDS)


def submission_key(form: FormData) -> str | None:
    """Return the idempotency key of a form: equal where the same form is sent twice with the same content.

    None of a form without a field `submission`. A form that was corrected after the answer has another one.
    """
    if not form.get(SUBMISSION):
        return None
    content = urlencode([(name, str(value)) for name, value in form.multi_items()])
    return hashlib.sha256(content.encode()).hexdigest()


async def _read(request: Request, *, limit: int, max_fields: int) -> FormData:
    require_own_site(request)
    if media_type_of(request, default="") != ENCODED:
        raise PageError(415, f"A form is sent as {ENCODED}.")
    try:
        body = await read_limited(
            request, limit=limit, too_large=f"This form is larger than {limit // 1024} kB."
        )
    except ApiError as error:
        raise PageError(413, error.message) from error
    try:
        # Bytes that are no UTF-8 become replacement characters, as they do in the query of an address.
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=max_fields)
    except ValueError as error:
        raise PageError(422, "This form cannot be read.") from error
    values: list[tuple[str, str | UploadFile]] = [(name, value) for name, value in pairs]
    return FormData(values)
