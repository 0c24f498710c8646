"""Comparison of reports, with a tolerance for the last digits of doubles."""

import math
from dataclasses import fields, is_dataclass
from typing import Any


def differences(first: Any, second: Any, name: str = "report") -> list[str]:
    """List where two reports differ: numbers by more than a billionth."""
    if is_dataclass(first) and type(first) is type(second):
        parts = (
            (field.name, getattr(first, field.name), getattr(second, field.name)) for field in fields(first)
        )
        return [line for part, one, other in parts for line in differences(one, other, f"{name}.{part}")]
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return [line for key in first for line in differences(first[key], second[key], f"{name}[{key}]")]
    if isinstance(first, (tuple, list)) and isinstance(second, (tuple, list)) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return [line for i, (one, other) in pairs for line in differences(one, other, f"{name}[{i}]")]
    if isinstance(first, float) and isinstance(second, float):
        is_same = math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
    else:
        is_same = first == second
    return [] if is_same else [f"{name}: {first!r} and {second!r}"]
