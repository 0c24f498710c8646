"""What a request for a visitor's variants must look like."""

from typing import Any, Final

import msgspec

from pipeline.events.body import InvalidBodyError, decode_leniently
from pipeline.events.field_checks import checked_text, optional_id
from pipeline.events.rejections import RejectedError
from pipeline.events.schema import MAX_URL_LENGTH


class VisitBody(msgspec.Struct, frozen=True):
    """Who visits which page; every field may be absent."""

    visitor_id: str | None = None
    user_id: str | None = None
    url: str | None = None
    attributes: dict[str, Any] | None = None
    assignments: dict[str, str] | None = None
    project_id: str | None = None


_decode: Final = msgspec.json.Decoder(VisitBody).decode


def read_visit(body: bytes) -> VisitBody:
    """Read and check it. Raises MalformedBodyError, and InvalidBodyError for junk ids."""
    visit: VisitBody = decode_leniently(_decode, body)[0]
    for field in ("visitor_id", "user_id"):
        try:
            optional_id(field, getattr(visit, field))
        except RejectedError as error:
            raise InvalidBodyError(field, str(error)) from error
    try:
        checked_text("url", visit.url, MAX_URL_LENGTH)
    except RejectedError as error:
        raise InvalidBodyError("url", str(error)) from error
    return visit
