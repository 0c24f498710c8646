"""Repeated members: found wherever they are, and never where there are none."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events import unique_members
from pipeline.events.schema import ConvertEvent, TrackEvent
from pipeline.events.unique_members import RepeatedMemberError, repeats_no_member, require_unique_in_event

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
    if repeats_no_member(text):
        json.loads(text, object_pairs_hook=unique)


def unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(members)) == len(members)
    return dict(members)


def test_escapes_hide_no_repeated_member() -> None:
    assert repeats_no_member(b'{"batch":[{"a":1,"b":"\\u00e9"}]}')
    assert not repeats_no_member(b'{"a":1,"a":2,"b":"\\u0022:"}')
    assert not repeats_no_member(b'{"a":1,"a":2,"b":"\\"\\u003A"}')
    assert not repeats_no_member(b'{"a" :1,"a":2}')
