"""Whether text is JSON that can mean one thing only."""

import json
from collections import Counter
from typing import Any, Final

import msgspec

DEEPEST: Final = 100
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class MalformedJsonError(ValueError):
    """Text that is no JSON, or of which two readers may make different things."""


def read_json(text: bytes) -> Any:  # noqa: ANN401 - any value there is
    """The value that UTF-8 text stands for. MalformedJsonError.

    Refused besides what the grammar refuses: `NaN`, numbers too large for a float, halves of surrogate
    pairs, a byte order mark, a name twice in one object, and nesting of more than DEEPEST levels.
    """
    if text.startswith(BYTE_ORDER_MARK):
        raise MalformedJsonError("it starts with a byte order mark; send UTF-8 without one")
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        raise MalformedJsonError(_TOO_DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedJsonError(str(error)) from None
    # Few brackets cannot nest deeply, and most bodies have few.
    if text.count(b"[") + text.count(b"{") > DEEPEST and _is_too_deep(value):
        raise MalformedJsonError(_TOO_DEEP)
    json.loads(text.decode(), object_pairs_hook=_distinct, parse_int=len, parse_float=len)
    return value


_TOO_DEEP: Final = f"its lists and objects are nested more than {DEEPEST} levels deep"


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return any(isinstance(inner, dict | list) for inner in level)


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        counts = Counter(name for name, _ in members)
        twice = next(name for name, count in counts.items() if count > 1)
        raise MalformedJsonError(f"an object names {twice!r} more than once; name each member once")
    return found
