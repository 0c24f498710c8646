import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events import body as bodies
from pipeline.events.batch_split import MAX_AROUND_BYTES, MAX_EVENTS, TooManyEventsError, TooMuchAroundError
from pipeline.events.body import (
    MAX_SLICE_EVENTS,
    InvalidBodyError,
    MalformedBodyError,
    divided,
    read_in_slices,
)
from pipeline.events.json_structure import SLICE_BYTES
from tests.pipeline.events.event_bodies import read_body


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


@pytest.mark.parametrize("spaced", ["", " "])
def test_a_member_of_the_body_that_is_repeated_is_malformed(spaced: str) -> None:
    for repeated in ('"batch":[]', '"project_id":"prj_1"', '"other":1', '"\\u0062atch":[]'):
        text = f'{{"batch"{spaced}:[{{"a":1}}],"project_id":"prj_1","other":2,{repeated}}}'
        with pytest.raises(MalformedBodyError, match="more than once"):
            read_body(text.encode())


def test_members_of_events_are_not_those_of_the_body() -> None:
    body = read_body(b'{"batch":[{"batch":[],"sent_at":1},{"batch":2}],"other":{"batch":3},"sent_at":4}')
    assert [bytes(event) for event in body.events] == [b'{"batch":[],"sent_at":1}', b'{"batch":2}']
    assert body.sent_us == 4_000


@pytest.fixture
def always_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_UNDIVIDED_BYTES", -1)


BODIES = st.lists(
    st.dictionaries(st.text('"\\\\[]{},:ab', max_size=3), st.text('"\\\\[]{},: \ud83d') | st.integers())
    | st.lists(st.integers(), max_size=2)
    | st.text('"\\\\,[]')
    | st.none()
)


@pytest.mark.usefixtures("always_in_slices")
@given(BODIES, st.sampled_from([None, 0, 2]))
def test_events_cut_out_in_slices_are_the_decoded_ones(events: list[object], indent: int | None) -> None:
    around = {"other": {"batch": [1, [2]]}, "batch": events, "project_id": "prj_1", "more": [[], {}]}
    body = read_body(json.dumps(around, indent=indent).encode())
    repaired = json.loads(json.dumps(events).replace("\\ud83d", "\\ufffd"))
    assert [msgspec.json.decode(event) for event in body.events] == repaired
    assert body.project_id == "prj_1"


@pytest.mark.usefixtures("always_in_slices")
@pytest.mark.parametrize(
    "text",
    [
        b'{"batch":[1,]}',
        b'{"batch":[,1]}',
        b'{"batch":[1 2]}',
        b'{"batch":[{]}}',
        b'{"batch":[1}}',
        b'{"batch":[1]]',
        b'{"batch":[nul]}',
        b'{"batch":[]',
        b'{"batch":[] "a":1}',
        b'{"batch" [1]}',
        b"{batch:[1]}",
        b'[{"batch":[]}]',
        b'{"batch":["\\ud8"]}',
        b'{"batch":["\\',
    ],
)
def test_what_is_malformed_is_refused_in_slices_too(text: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        read_body(text)


HOSTILE = {
    "deep": b'{"batch":' + b"[" * 2**20,
    "many events": b'{"batch":[' + b"{}," * 2**19 + b"{}]}",
    "one large event": b'{"batch":[{"a":[' + b"{}," * 2**19 + b"{}]}]}",
    "one long text": b'{"batch":["' + b"x" * 2**21 + b'"]}',
    "escapes": b'{"batch":["' + b"\\n" * 2**20 + b'"]}',
    "half pairs": b'{"batch":["' + b"\\ud800" * 2**18 + b'"]}',
    "half pairs in events": b'{"batch":[' + b",".join([b'"' + b"\\ud800" * 2**12 + b'"'] * 60) + b"]}",
    "members around": b'{"batch":[],' + b'"a":0,' * 2**18 + b'"b":0}',
    "digits": b'{"batch":[' + b"9" * 2**21 + b"]}",
    "zeros": b"\0" * 2**21,
    "spaces": b'{"batch":[]}' + b" " * 2**21,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_step_through_a_hostile_body_reads_more_than_a_slice_or_an_event(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = [0]

    def counting(work: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            steps[-1] += max(len(argument) for argument in arguments if isinstance(argument, bytes))
            return work(*arguments, **named)

        return counted

    for name in ("decode_leniently", "require_unique", "_decode_envelope"):
        monkeypatch.setattr(bodies, name, counting(getattr(bodies, name)))
    with suppress(MalformedBodyError, TooManyEventsError, TooMuchAroundError):
        for _ in read_in_slices(text):
            steps.append(0)  # noqa: PERF401 - the last one is counted up meanwhile
    assert max(steps) <= 4 * MAX_AROUND_BYTES
    assert len(steps) <= 2 + len(text) / SLICE_BYTES * 2


def test_nothing_is_read_after_the_501st_event() -> None:
    many = b'{"batch":[' + b"{}," * 2**19
    # It is never closed, which only the end would show.
    with pytest.raises(TooManyEventsError, match="more than 500"):
        next(read_in_slices(many))


def test_a_large_body_is_split_with_pauses_and_an_ordinary_one_at_once() -> None:
    event = {"event_id": "e", "url": "https://shop.example/" + "x" * 1_900}
    for count, pauses in ((100, 0), (500, 50)):
        steps = read_in_slices(json.dumps({"batch": [event] * count}).encode())
        assert sum(1 for _ in steps) >= pauses
        assert (sum(1 for _ in read_in_slices(json.dumps({"batch": [event] * count}).encode())) > 0) is (
            pauses > 0
        )


@pytest.mark.parametrize(("size", "events"), [(1, 500), (300, 500), (5_000, 100), (40_000, 3)])
def test_events_are_decoded_in_slices_of_bounded_size(size: int, events: int) -> None:
    body = read_body(json.dumps({"batch": ["x" * size] * events}).encode())
    parts = divided(body)
    assert [event for part in parts for event in part.events] == body.events
    for part in parts:
        assert 1 <= len(part.events) <= MAX_SLICE_EVENTS
        assert len(part.events) == 1 or sum(len(bytes(event)) for event in part.events) <= SLICE_BYTES


def test_a_body_without_events_is_one_slice() -> None:
    assert [part.events for part in divided(read_body(b'{"batch":[]}'))] == [[]]


def test_the_number_of_events_is_bounded_in_slices_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"batch": [{}] * MAX_EVENTS}).encode()
    monkeypatch.setattr(bodies, "MAX_UNDIVIDED_BYTES", -1)
    assert len(read_body(text).events) == MAX_EVENTS
    with pytest.raises(TooManyEventsError):
        read_body(text.replace(b"[", b"[{},"))
