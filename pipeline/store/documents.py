"""JSON documents of engine records."""

from typing import Any, TypeVar

import msgspec

Value = TypeVar("Value")


def document_of(value: object) -> dict[str, Any]:
    """Convert a dataclass of the engine to JSON data."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return document


def value_of(document: object, kind: type[Value]) -> Value:
    """Build the record from its `document_of`; its constructor validates it."""
    return msgspec.convert(document, kind)
