"""Typed records decoded from JSON and from plain data."""

import threading
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

Record = TypeVar("Record")

_building: Final = threading.Lock()


def record_from_json(content: bytes | str, kind: type[Record]) -> Record:
    """Decode JSON into a record; msgspec.DecodeError, msgspec.ValidationError."""
    record: Record = _decoder(kind).decode(content)  # type: ignore[arg-type] # every class is hashable
    return record


def record_of(plain: object, kind: type[Record]) -> Record:
    """Build a record from plain data; msgspec.ValidationError."""
    _decoder(kind)  # type: ignore[arg-type] # every class is hashable
    return msgspec.convert(plain, kind)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a class, or a generic alias
    """Return the decoder of a type.

    msgspec describes a dataclass when it is first needed. Two threads that do so at once end the process by a
    segmentation fault (seen with 0.22.0), so that one at a time may.
    """
    with _building:
        return msgspec.json.Decoder(kind)
