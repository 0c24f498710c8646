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

    def size_of(self, schema: Schema) -> tuple[int, int]:
        """Return the numbers of values and of bytes of `value_of` without making it."""
        schema = self._resolved(schema)
        if "enum" in schema or "const" in schema or schema.get("type") not in {"object", "array"}:
            return 1, len(json.dumps(self.value_of(schema)))
        if schema["type"] == "array":
            count = min(schema.get("maxItems", self.rows), self.rows)
            values, size = self.size_of(schema.get("items", {}))
            return 1 + count * values, 2 + count * (size + len(", "))
        named = {name: self.size_of(one) for name, one in schema.get("properties", {}).items()}
        return 1 + sum(values for values, _ in named.values()), 2 + sum(
            len(f'"{name}": , ') + size for name, (_, size) in named.items()
        )

    def _resolved(self, schema: Schema) -> Schema:
        if "anyOf" in schema:
            return self._resolved([one for one in schema["anyOf"] if one.get("type") != "null"][-1])
        if "$ref" in schema:
            return self._resolved(self.components[schema["$ref"].removeprefix(_REFERENCE)])
        return schema


def widest(schema: Schema, components: Mapping[str, Schema], *, most_bytes: int, most_values: int) -> bytes:
    """Return the widest JSON text within both limits: first by its lists, then by its texts."""

    def fits(rows: int, length: int) -> bool:
        values, size = Widest(components, rows, length).size_of(schema)
        return values <= most_values and size <= most_bytes

    rows = next((rows for rows in (1000, 500, 200, 100, 50, 20, 10, 5) if fits(rows, 4)), 1)
    length = next((length for length in (65536, 4096, 1024, 255, 64, 16) if fits(rows, length)), 4)
    return json.dumps(Widest(components, rows, length).value_of(schema)).encode()
