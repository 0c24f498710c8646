import msgspec
import pytest

from pipeline.events.attributes import InvalidAttributesError
from pipeline.events.rejections import CODES, RejectedError, rejection
from pipeline.events.schema import ConvertEvent, TrackEvent
from pipeline.events.timestamps import InvalidTimestampError, TooOldError

RAW = msgspec.Raw(b'{"event_id":"e1"}')


def of_type_error(event: type[TrackEvent | ConvertEvent], body: bytes) -> str | None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.json.decode(body, type=event)
    return rejection(msgspec.Raw(body), error.value).code


def test_a_rejection_names_the_event_and_gives_code_and_message() -> None:
    result = rejection(RAW, RejectedError("unknown_goal", "the project has no goal 'g'"))
    assert (result.event_id, result.status) == ("e1", "rejected")
    assert (result.code, result.message) == ("unknown_goal", "the project has no goal 'g'")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidTimestampError("no time"), "invalid_timestamp"),
        (TooOldError("old"), "timestamp_too_old"),
        (InvalidAttributesError("nested"), "invalid_attributes"),
        (ValueError("anything else"), "invalid_event"),
    ],
)
def test_errors_of_decoding_have_codes(error: Exception, code: str) -> None:
    assert rejection(RAW, error).code == code
    assert code in CODES


@pytest.mark.parametrize(
    ("event", "body", "code"),
    [
        (TrackEvent, b'{"type":1}', "invalid_type"),
        (TrackEvent, b'{"value":"1"}', "invalid_value"),
        (TrackEvent, b'{"url":1}', "invalid_event"),
        (ConvertEvent, b'{"transaction_id":1}', "invalid_transaction_id"),
        (ConvertEvent, b'{"kind":1}', "invalid_type"),
    ],
)
def test_a_value_of_another_json_type_gets_the_code_of_its_field(
    event: type[TrackEvent | ConvertEvent], body: bytes, code: str
) -> None:
    assert of_type_error(event, body) == code


@pytest.mark.parametrize("raw", [b"[]", b'{"event_id":7}', b"null", b"[" * 100_000])
def test_an_event_without_a_readable_id_has_none(raw: bytes) -> None:
    assert rejection(msgspec.Raw(raw), ValueError("unreadable")).event_id is None
