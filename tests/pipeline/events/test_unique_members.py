"""Repeated members: found wherever they are, and never where there are none."""

import json
from contextlib import suppress
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events import unique_members
from pipeline.events.schema import ConvertEvent, TrackEvent
from pipeline.events.unique_members import (
    RepeatedMemberError,
    is_plain,
    object_of,
    repeat_no_member,
    repeats_no_member,
    require_unique_in_event,
)

TEXTS = st.text('":\\ ax', max_size=4)
VALUES = st.none() | st.booleans() | st.integers(0, 9) | TEXTS
EVENTS = st.lists(
    st.tuples(st.sampled_from(["event_id", "url", "user_id", "x", '":', "attributes"]), VALUES), max_size=6
)
ATTRIBUTES = st.lists(st.tuples(TEXTS, VALUES), max_size=3)


def written(pairs: list[tuple[str, Any]], colon: str) -> str:
    """Write an object with its members in that order, repeated ones too."""
    return "{" + ",".join(json.dumps(name) + colon + inner for name, inner in pairs) + "}"


@given(EVENTS, ATTRIBUTES, st.sampled_from([":", ": ", " :", "\n:"]))
def test_an_event_is_refused_exactly_where_it_repeats_a_member(
    event: list[tuple[str, object]], attributes: list[tuple[str, object]], colon: str
) -> None:
    inner = written([(name, json.dumps(value)) for name, value in attributes], colon)
    pairs = [(name, inner if name == "attributes" else json.dumps(value)) for name, value in event]
    text = written(pairs, colon).encode()
    names = [name for name, _ in event]
    inside = [name for name, _ in attributes] if "attributes" in names else []
    is_repeated = len(set(names)) < len(names) or len(set(inside)) < len(inside)
    try:
        decoded = msgspec.json.decode(text, type=TrackEvent)
    except msgspec.ValidationError:
        return
    refused = False
    try:
        require_unique_in_event(text, decoded)
    except RepeatedMemberError:
        refused = True
    assert refused is is_repeated


@pytest.mark.parametrize("kind", ["", '"kind":"conversion",', '"kind":"refund",'])
def test_a_field_with_a_default_of_its_own_hides_no_repetition(kind: str) -> None:
    text = f'{{{kind}"event_id":"a","goal_id":"g","goal_id":"h"}}'.encode()
    decoded = msgspec.json.decode(text, type=ConvertEvent)
    with pytest.raises(RepeatedMemberError, match="'goal_id' more than once"):
        require_unique_in_event(text, decoded)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_an_ordinary_event_is_read_once(monkeypatch: pytest.MonkeyPatch, separators: tuple[str, str]) -> None:
    read: list[object] = []
    monkeypatch.setattr(unique_members, "require_unique_members", read.append)
    event = {
        "event_id": "a",
        "url": "https://a.example/?a=b:c",
        "attributes": {"country": "US", "x": {"y": 1}},
    }
    text = json.dumps(event, separators=separators).encode()
    require_unique_in_event(text, msgspec.json.decode(text, type=TrackEvent))
    assert read == []


@given(EVENTS, ATTRIBUTES, st.sampled_from([":", ": ", " :", "\n:"]))
def test_a_text_said_to_repeat_no_member_repeats_none(
    event: list[tuple[str, object]], attributes: list[tuple[str, object]], colon: str
) -> None:
    inner = written([(name, json.dumps(value)) for name, value in attributes], colon)
    pairs = [(name, inner if name == "attributes" else json.dumps(value)) for name, value in event]
    text = written(pairs, colon).encode()
    if is_plain(text) and repeats_no_member(text):
        json.loads(text, object_pairs_hook=unique)


PAIRS = st.lists(st.tuples(EVENTS, ATTRIBUTES), max_size=3)


@given(PAIRS, st.sampled_from([":", ": ", "\n:"]))
def test_events_said_to_repeat_no_member_repeat_none(
    events: list[tuple[list[tuple[str, object]], list[tuple[str, object]]]], colon: str
) -> None:
    texts: list[msgspec.Raw] = []
    decoded: list[TrackEvent] = []
    for event, attributes in events:
        inner = written([(name, json.dumps(value)) for name, value in attributes], colon)
        pairs = [(name, inner if name == "attributes" else json.dumps(value)) for name, value in event]
        text = written(pairs, colon).encode()
        with suppress(msgspec.ValidationError):
            decoded.append(msgspec.json.decode(text, type=TrackEvent))
            texts.append(msgspec.Raw(text))
    if is_plain(b"".join(texts)) and repeat_no_member(texts, decoded):
        for raw in texts:
            json.loads(bytes(raw), object_pairs_hook=unique)


def test_one_event_that_repeats_a_member_is_not_made_up_for_by_another() -> None:
    # The second leaves out its unknown member, or its null, where it is written again.
    for other in (b'{"event_id":"b","x":1}', b'{"event_id":"b","url":null}'):
        texts = [msgspec.Raw(b'{"event_id":"a","event_id":"b"}'), msgspec.Raw(other)]
        assert not repeat_no_member(texts, [msgspec.json.decode(raw, type=TrackEvent) for raw in texts])
        unique = texts[1:]
        assert repeat_no_member(unique, [msgspec.json.decode(raw, type=TrackEvent) for raw in unique])


def unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(members)) == len(members)
    return dict(members)


def test_escapes_hide_no_repeated_member() -> None:
    assert is_plain(b'{"batch":[{"a":1,"b":"\\u00e9"}]}')
    assert repeats_no_member(b'{"batch":[{"a":1,"b":"\\u00e9"}]}')
    assert not is_plain(b'{"a":1,"a":2,"b":"\\u0022:"}')
    assert not is_plain(b'{"a":1,"a":2,"b":"\\"\\u003A"}')
    assert not is_plain(b'{"a" :1,"a":2}')


class CountedName(str):
    """A name that counts its comparisons."""

    __slots__ = ()
    comparisons: ClassVar[int] = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        type(self).comparisons += 1
        return str.__eq__(self, other) is True


@pytest.mark.parametrize("distinct", [1, 3_000])
def test_a_repeated_name_is_found_without_comparing_each_with_each(
    distinct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountedName, "comparisons", 0)
    members = [(CountedName(number % distinct), 0) for number in range(3_001)]
    with pytest.raises(RepeatedMemberError, match="'0' more than once"):
        object_of(members)
    assert 0 < CountedName.comparisons <= 4 * len(members)
