"""The widest value that a JSON schema describes, within a number of bytes and of values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Schema = Mapping[str, Any]
_REFERENCE: Final = "#/components/schemas/"
_USUAL_LENGTH: Final = 255
_WORDS: Final = {"date-time": "2026-05-01T09:00:00Z", "uri": "https://shop.example", "date": "2026-05-01"}


@dataclass(frozen=True, slots=True)
class Widest:
    """Lists of at most `rows` items, and texts of at most `length` characters."""

    components: Mapping[str, Schema]
    rows: int
    length: int

    def value_of(self, schema: Schema, number: int = 0) -> Any:
        """Return a value with every property, and as many items as fit."""
        schema = self._resolved(schema)
        if "enum" in schema or "const" in schema:
            return schema.get("const", schema.get("enum", [None])[-1])
        if schema.get("type") == "object":
            return {name: self.value_of(one, number) for name, one in schema.get("properties", {}).items()}
        if schema.get("type") == "array":
            count = min(schema.get("maxItems", self.rows), self.rows)
            return [self.value_of(schema.get("items", {}), index) for index in range(count)]
        if schema.get("type") == "string":
            longest = min(schema.get("maxLength", _USUAL_LENGTH), self.length)
            return _WORDS.get(schema.get("format", ""), f"{number:04}".ljust(longest, "x")[:longest])
        return schema.get("maximum", 1) if schema.get("type") in {"integer", "number"} else True

    def _resolved(self, schema: Schema) -> Schema:
        if "anyOf" in schema:
            return self._resolved([one for one in schema["anyOf"] if one.get("type") != "null"][-1])
        if "$ref" in schema:
            return self._resolved(self.components[schema["$ref"].removeprefix(_REFERENCE)])
        return schema


def widest(schema: Schema, components: Mapping[str, Schema], *, most_bytes: int, most_values: int) -> bytes:
    """Return the widest JSON text within both limits: first by its lists, then by its texts."""

    def fits(rows: int, length: int) -> bool:
        value = Widest(components, rows, length).value_of(schema)
        return _count(value) <= most_values and len(json.dumps(value)) <= most_bytes

    rows = next((rows for rows in (1000, 500, 200, 100, 50, 20, 10, 5) if fits(rows, 4)), 1)
    length = next((length for length in (65536, 4096, 1024, 255, 64, 16) if fits(rows, length)), 4)
    return json.dumps(Widest(components, rows, length).value_of(schema)).encode()


def _count(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1
