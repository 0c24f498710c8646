"""JSON documents of engine records."""

from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from engine.typed_records import record_from_json, record_of

Value = TypeVar("Value")

# Of some 10 kB each. Jobs of each minute read all experiments that run.
_MOST_DECODED: Final = 2048


def document_of(value: object) -> dict[str, Any]:
    """Convert a dataclass of the engine to JSON data."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return document


def value_of(document: object, kind: type[Value]) -> Value:
    """Build the record from its `document_of`; its constructor validates it."""
    return record_of(document, kind)


def document_from(text: str) -> dict[str, Any]:
    """Decode the JSON of a document."""
    document: dict[str, Any] = msgspec.json.decode(text)
    return document


def value_from(text: str, kind: type[Value]) -> Value:
    """Build the record from the JSON of its `document_of`; records are frozen, so equal texts share one."""
    record: Value = _decode(text, kind)  # type: ignore[arg-type] # every class is hashable
    return record


@lru_cache(maxsize=_MOST_DECODED)
def _decode(text: str, kind: type[Any]) -> Any:  # noqa: ANN401 - of that kind
    return record_from_json(text, kind)
