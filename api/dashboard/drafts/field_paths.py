"""Paths of form fields, such as `goals[0].config.window`: the paths that the API names in its errors."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]{1,3})\]")
# The number of a row; of more digits, a path is none of the form.
INDEX: Final = re.compile(r"\[(0|[1-9][0-9]{0,2})\]")


def pattern_of(path: str) -> str:
    """Return a path without its indices: `goals[].config.window`."""
    return INDEX.sub("[]", path)


def put(record: dict[str, Any], path: str, value: object) -> None:
    """Set a value in nested objects and lists; lists are filled in the order of their indices."""
    steps: list[str | int] = [
        name if name is not None else int(index)
        for name, index in ((match[1], match[2]) for match in _STEP.finditer(path))
    ]
    inside: Any = record
    for step, following in pairwise(steps):
        empty: Any = [] if isinstance(following, int) else {}
        inside = _child(inside, step, empty)
    if isinstance(inside, list):
        inside.append(value)
    else:
        inside[steps[-1]] = value


def _child(inside: Any, step: str | int, empty: Any) -> Any:  # noqa: ANN401 - nested JSON
    if isinstance(inside, dict):
        return inside.setdefault(step, empty)
    if isinstance(step, int) and step >= len(inside):
        inside.append(empty)
        return empty
    return inside[step]


def flattened(value: object, path: str = "") -> dict[str, object]:
    """Return the single values of nested objects and lists by their paths; a list of texts is one value."""
    if isinstance(value, Mapping):
        items = [(f"{path}.{name}" if path else str(name), item) for name, item in value.items()]
    elif isinstance(value, list | tuple) and not all(isinstance(item, str) for item in value):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        return {path: value}
    return {name: one for inside, item in items for name, one in flattened(item, inside).items()}
