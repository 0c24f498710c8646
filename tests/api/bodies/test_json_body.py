"""JSON bodies: what is refused, and how deep and how large they may be."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.bodies.json_body import MAX_VALUES, MalformedJsonError, TooManyValuesError, read_json
from pipeline.events.json_structure import MAX_DEPTH
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(VALUES)
def test_what_one_reader_wrote_another_reads(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert read_json(text.encode()) == value


@given(st.binary())
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with suppress(MalformedJsonError):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "truncated"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ('{"a": 1}'.encode("utf-16"), "malformed"),
        (b'"\xff"', "utf-8"),
        # Half of a surrogate pair, written out and escaped: CESU-8 and JavaScript make them.
        (b'"\xed\xa0\x80"', "utf-8"),
        (b'"\\ud800"', ""),
        (b'"\\udc00\\ud800"', ""),
        (b"NaN", "malformed"),
        (b"-Infinity", "malformed"),
        (b"1e999", "out of range"),
        (b"9" * 5_000, "out of range"),
        (b"01", "malformed"),
        (b"{'a': 1}", "malformed"),
        (b'{"a": 1,}', "malformed"),
        (b"{} {}", "malformed"),
        (b'"\n"', "malformed"),
        (b'{"a": 1, "b": 2, "a": 1}', "'a' more than once"),
        (b'[{"b": {"a": 1, "\\u0061": 2}}]', "'a' more than once"),
    ],
)
def test_what_two_readers_might_read_differently_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(MalformedJsonError, match=f"(?i){why}"):
        read_json(text)


@pytest.mark.parametrize(("opening", "inside", "closing"), [("[", "", "]"), ('{"a":', "{}", "}")])
def test_nesting_is_bounded(opening: str, inside: str, closing: str) -> None:
    def nested(levels: int) -> bytes:
        return (opening * levels + inside + closing * levels).encode()

    own = 1 if inside else 0
    read_json(nested(MAX_DEPTH - own))
    for levels in (MAX_DEPTH - own + 1, 900, 1_100, 100_000):
        with pytest.raises(MalformedJsonError, match="nested"):
            read_json(nested(levels))


def test_unclosed_brackets_are_refused_whatever_their_number() -> None:
    for levels in (1, 100_000, 1_000_000):
        with pytest.raises(MalformedJsonError):
            read_json(b"[" * levels)


@pytest.mark.parametrize("values", ["0", "[]", '{"a":0}', '"a,[{b"'])
def test_the_number_of_values_is_bounded(values: str) -> None:
    def text(count: int) -> bytes:
        return f"[{','.join([values] * count)}]".encode()

    each = 1 + values.count("[]") + values.count("{}") + values.count(":")
    most = MAX_VALUES // each
    assert len(read_json(text(most - 1))) == most - 1
    with pytest.raises(TooManyValuesError, match="65,536 values"):
        read_json(text(most + 1))


def test_large_numbers_are_read_exactly() -> None:
    assert read_json(b"9" * 400) == 10**400 - 1
    assert read_json(b"1e308") == 1e308
    assert math.copysign(1, read_json(b"-0.0")) == -1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{'a': 1}",
        b'{"name": "\\ud800"}',
        b'{"name": NaN}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"name": ' + b"9" * 5_000 + b"}",
        b'{"name": 1e999}',
    ],
)
def test_body_that_is_no_json_is_told_so(customer: Customer, body: bytes) -> None:
    answer = customer.call("POST", "/projects", content=body, headers={"Content-Type": "application/json"})
    error_of(answer, 400, "invalid_json")


def test_body_of_too_many_values_is_too_large(customer: Customer) -> None:
    body = json.dumps({"name": [0] * MAX_VALUES})
    answer = customer.call("POST", "/projects", content=body, headers={"Content-Type": "application/json"})
    error_of(answer, 413, "payload_too_large")


@pytest.mark.parametrize("body", [[], "text", 1, None, True])
def test_body_that_is_no_object_is_invalid(customer: Customer, body: object) -> None:
    answer = customer.call(
        "POST", "/projects", content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert fields_of(error_of(answer, 422, "validation_error")) == ["body"]


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_body_of_another_media_type_is_refused(customer: Customer, media_type: str) -> None:
    answer = customer.call("POST", "/projects", content=b"{}", headers={"Content-Type": media_type})
    error_of(answer, 415, "unsupported_media_type")


def test_media_type_may_name_its_charset(customer: Customer) -> None:
    body = json.dumps({"name": "Läden", "url": "https://shop.example"}, ensure_ascii=False).encode()
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = customer.call("POST", "/projects", content=body, headers=headers)
    assert answer.json()["data"]["name"] == "Läden"
