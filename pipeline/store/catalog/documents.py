"""How an engine value is kept whole: as a JSON document, and back."""

from typing import Any, TypeVar

import msgspec

Value = TypeVar("Value")


def document_of(value: object) -> dict[str, Any]:
    """A frozen dataclass of the engine as the very data that reading its JSON gives back."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return document


def value_of(document: object, kind: type[Value]) -> Value:
    """The value that `document_of` was given; it checks itself as it is built."""
    return msgspec.convert(document, kind)
