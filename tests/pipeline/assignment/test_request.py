import pytest

from pipeline.assignment.request import decode_init
from pipeline.events.body import InvalidBodyError, MalformedBodyError


def test_every_field_may_be_absent() -> None:
    init = decode_init(b"{}")
    assert (init.visitor_id, init.user_id, init.url, init.attributes, init.assignments) == (None,) * 5


def test_fields_are_decoded() -> None:
    init = decode_init(b'{"visitor_id":"v1","url":"https://shop.example/","assignments":{"exp_1":"B"}}')
    assert (init.visitor_id, init.url, init.assignments) == ("v1", "https://shop.example/", {"exp_1": "B"})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"visitor_id":"undefined"}', "visitor_id"),
        (b'{"user_id":""}', "user_id"),
        (b'{"url":"' + b"x" * 8_001 + b'"}', "url"),
        (b'{"attributes":[]}', "attributes"),
    ],
)
def test_an_invalid_field_is_named(body: bytes, field: str) -> None:
    with pytest.raises(InvalidBodyError) as invalid:
        decode_init(body)
    assert [problem.field for problem in invalid.value.problems] == [field]


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{"])
def test_a_body_that_is_no_object_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_init(body)
