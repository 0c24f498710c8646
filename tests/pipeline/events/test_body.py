import json

import msgspec
import pytest

from pipeline.events.body import (
    InvalidBodyError,
    MalformedBodyError,
    TooManyEventsError,
    read_body,
)


def test_a_batch_is_split_into_its_events() -> None:
    body = read_body(b'{"batch":[{"a":1}, {"b":2}],"sent_at":1772357400000,"project_id":"prj_1"}')
    assert [bytes(event) for event in body.events] == [b'{"a":1}', b'{"b":2}']
    assert body.sent_us == 1_772_357_400_000_000
    assert body.project_id == "prj_1"


def test_one_event_needs_no_batch_where_that_is_allowed() -> None:
    alone = b'{"event_id":"e1","sent_at":"2026-03-01T09:30:00Z"}'
    body = read_body(alone, single=True)
    assert [bytes(event) for event in body.events] == [alone]
    assert body.sent_us == 1_772_357_400_000_000
    with pytest.raises(InvalidBodyError, match="batch is required"):
        read_body(alone)


def test_500_events_pass_and_501_do_not() -> None:
    assert len(read_body(json.dumps({"batch": [{}] * 500}).encode()).events) == 500
    with pytest.raises(TooManyEventsError, match="501 events"):
        read_body(json.dumps({"batch": [{}] * 501}).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"batch":[]}x',
        b'{"batch":[NaN]}',
        b'{"batch":' + b"[" * 100_000,
        b"\xff\xfe",
        b"PK\x03\x04",
    ],
)
def test_what_is_no_json_object_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        read_body(body)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"batch":{}}', "batch"),
        (b'{"batch":[],"sent_at":[]}', "sent_at"),
        (b'{"batch":[],"sent_at":"yesterday"}', "sent_at"),
        (b'{"batch":[],"project_id":5}', "project_id"),
    ],
)
def test_a_field_of_the_batch_that_is_wrong_is_named(body: bytes, field: str) -> None:
    with pytest.raises(InvalidBodyError) as caught:
        read_body(body)
    assert [problem.field for problem in caught.value.problems] == [field]


def test_half_an_emoji_costs_only_itself() -> None:
    # JSON.stringify writes a lone surrogate so, since ECMAScript 2019.
    body = read_body(b'{"batch":[{"url":"https://shop.example/\\ud83d"},{"url":"whole \\ud83d\\uded2"}]}')
    urls = [msgspec.json.decode(event)["url"] for event in body.events]
    assert urls == ["https://shop.example/\ufffd", "whole 🛒"]


def test_an_escaped_backslash_is_no_half_an_emoji() -> None:
    body = read_body(rb'{"batch":[{"url":"\\ud83d \ud83d\n"}]}')
    assert msgspec.json.decode(body.events[0]) == {"url": "\\ud83d \ufffd\n"}
