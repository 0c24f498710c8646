"""Payloads as text in the form of a draft: JSON, and the line of what is wrong with it."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from api.bodies.json_body import MalformedJsonError, TooManyValuesError, read_json
from api.dashboard.drafts.field_paths import pattern_of

PAYLOAD: Final = "variants[].payload"
_AT_BYTE: Final = re.compile(r"(?:JSON is malformed: )?(?P<what>.*) \(byte (?P<byte>\d+)\)")
_REPEATED: Final = re.compile(r"an object names '(?P<name>.*)' more than once")


def payload_text(payload: Any) -> str:  # noqa: ANN401 - any JSON
    """Write a payload as a person edits it; none is empty."""
    return "" if payload is None else json.dumps(payload, indent=2, ensure_ascii=False)


def read_payload(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Read a payload, None where the text is blank; MalformedJsonError, TooManyValuesError."""
    return read_json(text.encode()) if text.strip() else None


def payload_problems(form: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what is wrong with the payloads of a form that are no JSON, by field."""
    problems = {}
    for path, text in form.items():
        if pattern_of(path) == PAYLOAD:
            try:
                read_payload(text)
            except (MalformedJsonError, TooManyValuesError) as error:
                problems[path] = [_with_line(text, str(error))]
    return problems


def _with_line(text: str, message: str) -> str:
    """Say what is wrong, and in which line where that is known."""
    end, what = None, message
    if found := _AT_BYTE.fullmatch(message):
        what, end = found["what"], len(text.encode()[: int(found["byte"])].decode(errors="ignore"))
    elif found := _REPEATED.match(message):
        *_, end = (-1, *(one.start() for one in re.finditer(rf'"{re.escape(found["name"])}"\s*:', text)))
    elif "truncated" in message:
        what, end = "it ends too early", len(text)
    line = f" in line {text.count(chr(10), 0, end) + 1}" if end is not None and end >= 0 else ""
    return f"is no JSON{line}: {what}"
