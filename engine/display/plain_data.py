"""Plain data of results: what JSON has, of nested dataclasses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any

from engine.analysis.results.flat_results import VIEWS


def plain_data(value: object) -> Any:  # noqa: ANN401, PLR0911  # of JSON, a return a type
    """Turn a result into dicts, lists, text, numbers and None; times are ISO 8601, and variants flat.

    An infinite number or NaN becomes None, for JSON has neither.
    """
    if type(value) in VIEWS:
        return plain_data(VIEWS[type(value)].flat(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain_data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_data(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain_data(one) for one in value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_data(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
