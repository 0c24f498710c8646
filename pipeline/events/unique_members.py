"""Repeated members of JSON objects, which two parsers may read differently."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pipeline.events.schema import ConvertEvent, TrackEvent

# The last byte of a name and the colon after it, in compact JSON.
NAME_END: Final = b'":'

_encode: Final = msgspec.json.Encoder().encode
# Escapes that would be a part of NAME_END where a text is written again.
_ESCAPED_NAME_END: Final = re.compile(rb"\\u00(?:22|3[aA])")


class RepeatedMemberError(ValueError):
    """An object that names a member more than once."""


def require_unique_members(text: bytes) -> None:
    """Require that no object of a JSON text names a member twice; RepeatedMemberError, UnicodeDecodeError."""
    json.loads(text.decode(), object_pairs_hook=object_of, parse_int=len, parse_float=len)


def object_of(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Build the object of members that are each named once; RepeatedMemberError."""
    unique = dict(members)
    if len(unique) < len(members):
        counts = Counter(name for name, _ in members)
        repeated = next(name for name, count in counts.items() if count > 1)
        raise RepeatedMemberError(f"an object names {repeated!r} more than once; name each member once")
    return unique


def is_plain(text: bytes) -> bool:
    """Return whether a JSON text has as many NAME_ENDs as it has where it is read and written again."""
    return is_compact(text) and not _ESCAPED_NAME_END.search(text)


def repeats_no_member(text: bytes) -> bool:
    """Return whether no object of a plain text names a member twice, where that is quick to tell.

    Read and written again, a text has fewer names where one was repeated. False does not mean that one is.
    """
    try:
        again = _encode(msgspec.json.decode(text))
    except (ValueError, RecursionError):
        return False
    return text.count(NAME_END) == again.count(NAME_END)


def repeat_no_member(texts: Sequence[msgspec.Raw], events: Sequence[TrackEvent | ConvertEvent]) -> bool:
    """Return the same of the plain texts of decoded events.

    The events themselves are written first, which leaves out unknown members and those that say nothing.
    """
    names = sum_names(texts)
    return names == _encode(events).count(NAME_END) or repeats_no_member(b"[%b]" % b",".join(texts))


def sum_names(texts: Sequence[msgspec.Raw]) -> int:
    """Count the names in plain texts of objects."""
    return b"".join(texts).count(NAME_END)


def require_unique_in_event(text: bytes, event: TrackEvent | ConvertEvent) -> None:
    """Require the same of the text of a decoded event, reading it again only where members are not obvious.

    A compact text has no more members than ends of names, and no fewer than the event has values.
    """
    if not is_compact(text) or text.count(NAME_END) != _fewest_members(event):
        require_unique_members(text)


def is_compact(text: bytes) -> bool:
    """Return whether no white space follows a quote, so that each name ends in NAME_END."""
    return not (b"\n" in text or b"\t" in text or b"\r" in text or b'" ' in text)


def _fewest_members(event: TrackEvent | ConvertEvent) -> int:
    values = msgspec.structs.astuple(event)
    # A field whose default is not None may have it from the text, or not.
    given = event.__struct_defaults__.count(None) - values.count(None)
    return given if event.attributes is None else given + _members(event.attributes)


def _members(value: Mapping[str, Any]) -> int:
    count = len(value)
    for inner in value.values():
        if type(inner) is dict:
            count += _members(inner)
    return count
