"""Paths of form fields, such as `goals[0].config.window`: the paths that the API names in its errors."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]{1,4})\]")
_INDEX: Final = re.compile(r"\[[0-9]+\]")


def pattern_of(path: str) -> str:
    """Return a path without its indices: `goals[].config.window`."""
    return _INDEX.sub("[]", path)


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


def row_count(form: Mapping[str, str], rows: str) -> int:
    """Return how many rows of a list a form has."""
    first = f"{rows}["
    found = {name[len(first) :].partition("]")[0] for name in form if name.startswith(first)}
    return max((int(index) + 1 for index in found), default=0)


def without_row(form: Mapping[str, str], row: str) -> dict[str, str]:
    """Remove a row, such as `goals[1]`; the rows after it move up."""
    rows, _, index = row.removesuffix("]").rpartition("[")
    if not index.isdecimal():
        return dict(form)
    kept = {}
    for name, value in form.items():
        number, bracket, rest = name.removeprefix(f"{rows}[").partition("]")
        if not name.startswith(f"{rows}[") or not bracket or int(number) < int(index):
            kept[name] = value
        elif int(number) > int(index):
            kept[f"{rows}[{int(number) - 1}]{rest}"] = value
    return kept
