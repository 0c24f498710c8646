"""Bodies that ask for assignments: of `init`, and of the evaluation of flags."""

from typing import Annotated, Any, Final

import msgspec

from engine.validation.sent_ids import id_text
from pipeline.events.body import InvalidBodyError, decode_leniently, require_unique
from pipeline.events.field_checks import checked_text, optional_id
from pipeline.events.rejections import RejectedError
from pipeline.events.schema import MAX_URL_LENGTH


class InitBody(msgspec.Struct, frozen=True):
    """A visitor on a page; every field may be absent."""

    visitor_id: Annotated[
        str | None,
        msgspec.Meta(description="Visitor id; a new one is assigned if absent."),
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
            description="Variants to force for a preview: experiment id or test key → variant id or name. "
            "With a public key, a draft needs its id.",
            examples=[{"one-page-checkout": "One page"}],
        ),
    ] = None
    project_id: Annotated[
        str | None,
        msgspec.Meta(description="Required with a bearer key, here or in the query."),
    ] = None


_decode: Final = msgspec.json.Decoder(InitBody).decode


class MissingTargetingKeyError(InvalidBodyError):
    """An evaluation context without a targeting key."""


class _Evaluation(msgspec.Struct):
    context: dict[str, Any] = {}


_decode_evaluation: Final = msgspec.json.Decoder(_Evaluation).decode
_TARGETING_KEY: Final = "targetingKey"
_USER_ID: Final = "userId"
_URL: Final = "url"


def decode_init(body: bytes) -> InitBody:
    """Decode and check the body. Raises MalformedBodyError, and InvalidBodyError for junk ids."""
    init: InitBody
    init, repaired = decode_leniently(_decode, body)
    require_unique(repaired)
    return _checked(init)


def decode_evaluation(body: bytes, project_id: str | None) -> InitBody:
    """Decode the body of an evaluation of flags: an OpenFeature evaluation context.

    `targetingKey` is the visitor id, `userId` and `url` are the visitor's, and all others are attributes.
    Raises MalformedBodyError, and InvalidBodyError, as MissingTargetingKeyError where there is no visitor.
    """
    evaluation: _Evaluation
    evaluation, repaired = decode_leniently(_decode_evaluation, body)
    require_unique(repaired)
    attributes = dict(evaluation.context)
    visitor_id = attributes.pop(_TARGETING_KEY, None)
    if visitor_id is None or visitor_id == "":
        raise MissingTargetingKeyError(_TARGETING_KEY, "is missing; it is the id of the visitor")
    user_id = attributes.pop(_USER_ID, None)
    given = {
        "visitor_id": visitor_id,
        "user_id": user_id if isinstance(user_id, str) else id_text(user_id) or user_id,
        "url": attributes.pop(_URL, None),
    }
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise InvalidBodyError(name, "must be a text")
    return _checked(InitBody(**given, attributes=attributes, project_id=project_id))


def _checked(init: InitBody) -> InitBody:
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
