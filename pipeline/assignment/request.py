"""Body of an `init` request."""

from typing import Annotated, Any, Final

import msgspec

from pipeline.events.body import InvalidBodyError, decode_leniently, require_unique
from pipeline.events.field_checks import checked_text, optional_id
from pipeline.events.rejections import RejectedError
from pipeline.events.schema import MAX_URL_LENGTH


class InitBody(msgspec.Struct, frozen=True):
    """A visitor on a page; every field may be absent."""

    visitor_id: Annotated[
        str | None, msgspec.Meta(description="Visitor id; a new one is assigned if absent.")
    ] = None
    user_id: str | None = None
    url: Annotated[
        str | None,
        msgspec.Meta(description="URL of the page; without it, the pages of experiments are not checked."),
    ] = None
    attributes: dict[str, Any] | None = None
    assignments: Annotated[
        dict[str, str] | None,
        msgspec.Meta(
            description="Variants to force for a preview: experiment id or test key → variant id or name."
        ),
    ] = None
    project_id: Annotated[
        str | None, msgspec.Meta(description="Required with a bearer key, here or in the query.")
    ] = None


_decode: Final = msgspec.json.Decoder(InitBody).decode


def decode_init(body: bytes) -> InitBody:
    """Decode and check the body. Raises MalformedBodyError, and InvalidBodyError for junk ids."""
    init: InitBody
    init, repaired = decode_leniently(_decode, body)
    require_unique(repaired)
    for field in ("visitor_id", "user_id"):
        try:
            optional_id(field, getattr(init, field))
        except RejectedError as error:
            raise InvalidBodyError(field, str(error)) from error
    try:
        checked_text("url", init.url, MAX_URL_LENGTH)
    except RejectedError as error:
        raise InvalidBodyError("url", str(error)) from error
    return init
