"""Forms with a file: read whole, as they are small, and their file held in memory."""

from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Final
from urllib.parse import urlencode

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header
from starlette.requests import Request

from api.bodies.reader import media_type_of, read_limited
from api.dashboard.form_permissions import Permission, require
from api.dashboard.forms import PUBLIC_FIELDS, SentForm
from api.dashboard.page_errors import PageError
from api.dashboard.page_threads import on_page_thread
from api.dashboard.sessions import SignedIn, require_form_token, require_own_site
from api.errors import ApiError

ENCODED: Final = "multipart/form-data"
# Of the form; a larger file is sent to the API, which streams it to the disk.
MOST_BYTES: Final = 8 * 2**20
_TOO_LARGE: Final = (
    f"A file on this page has at most {MOST_BYTES // 2**20} MB. Send a larger one to the API, or have it "
    "described as a source."
)


@dataclass(slots=True)
class FileForm:
    """The fields of a form, and its file; without one the name is empty."""

    fields: dict[str, str] = field(default_factory=dict)
    name: str = ""
    content: bytes = b""


async def read_file_form(request: Request, session: SignedIn, permission: Permission) -> FileForm:
    """Read a form of a session whose key may send it; PageError 403, 404, 413, 415, 422, 429."""
    require_own_site(request)
    await require(request, session, permission)
    if media_type_of(request, default="") != ENCODED:
        raise PageError(415, f"A form with a file is sent as {ENCODED}.")
    try:
        body = await read_limited(request, limit=MOST_BYTES, too_large=_TOO_LARGE)
    except ApiError as error:
        raise PageError(413, error.message) from error
    form = await on_page_thread(request, _parse, request.headers["content-type"], body)
    request.state.form = SentForm(urlencode(form.fields).encode(), max_fields=PUBLIC_FIELDS)
    require_form_token(session, request.state.form)
    return form


def _parse(content_type: str, body: bytes) -> FileForm:
    """Parse the body of a form; PageError 422."""
    form = FileForm()
    _, options = parse_options_header(content_type)
    config = {"MAX_MEMORY_FILE_SIZE": MOST_BYTES + 1, "MAX_FIELD_SIZE": 2**16, "MAX_FIELDS": PUBLIC_FIELDS}
    try:
        parser = FormParser(
            ENCODED,
            partial(_take_field, form),
            partial(_take_file, form),
            boundary=options.get(b"boundary"),
            config=config,
        )
        parser.write(body)
        parser.finalize()
    except (FormParserError, ValueError) as error:
        raise PageError(422, "This form cannot be read.") from error
    return form


def _take_field(form: FileForm, one: Field) -> None:
    name, value = (text.decode(errors="replace") for text in (one.field_name or b"", one.value or b""))
    form.fields[name] = value


def _take_file(form: FileForm, one: File) -> None:
    held = one.file_object
    form.name = (one.file_name or b"").decode(errors="replace")
    form.content = held.getvalue() if isinstance(held, BytesIO) else b""
