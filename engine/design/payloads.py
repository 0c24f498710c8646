"""Payloads of variants: JSON values for the code of a site, bounded in size and depth."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from engine.errors import Problem
from engine.validation.check import check_with
from engine.validation.records import Record, as_mapping
from engine.validation.values import shown, text

MAX_BYTES: Final = 4_096
"""Of one payload, as UTF-8 JSON without spaces."""
MAX_PROJECT_BYTES: Final = 65_536
"""Of all experiments of a project that have not ended."""
MAX_DEPTH: Final = 10
# Browsers read larger whole numbers as others.
_LARGEST_WHOLE: Final = 2**53 - 1
_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    # OpenFeature has one type for both.
    dict: "object",
    list: "object",
    type(None): "null",
}
# In a script, which has the payload as a literal, this name sets the prototype.
_NO_NAME: Final = "__proto__"
_TEXT: Final = text(MAX_BYTES, least=0, lines=True)


@check_with()
def payload_json(value: object) -> Iterator[Problem]:
    """Check for a JSON value of at most MAX_BYTES, nested at most MAX_DEPTH levels deep."""
    problem = next(_problems(value, MAX_DEPTH), None)
    if problem is not None:
        yield problem
    elif (size := size_of(value)) > MAX_BYTES:
        yield Problem("", f"has {size:,} bytes as JSON; at most {MAX_BYTES:,} are possible")


def _problems(value: object, levels: int) -> Iterator[Problem]:
    """Yield what is wrong with a value, which may be nested so many levels more."""
    if isinstance(value, str):
        yield from _TEXT(value)
    elif isinstance(value, int) and abs(value) > _LARGEST_WHOLE:
        yield Problem("", f"holds {shown(value)}, which browsers read as another number; send it as text")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Problem("", f"holds {shown(value)}, which is no number of JSON")
    elif isinstance(value, dict | list):
        if not levels:
            yield Problem("", f"is nested more than {MAX_DEPTH} levels deep")
            return
        for name in value if isinstance(value, dict) else ():
            yield from _name_problems(name)
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _problems(inner, levels - 1)
    elif type(value) not in _TYPES:
        yield Problem("", f"holds {shown(value)}, which is no type of JSON")


def _name_problems(name: object) -> Iterator[Problem]:
    if not isinstance(name, str):
        yield Problem("", f"names a member {shown(name)}; names are texts")
    elif name == _NO_NAME:
        yield Problem("", f"names a member {_NO_NAME}, which browsers take for something else")
    else:
        yield from _TEXT(name)


def size_of(payload: Any) -> int:  # noqa: ANN401 - any JSON
    """Return the bytes of a payload as UTF-8 JSON without spaces; 0 for none."""
    return 0 if payload is None else len(msgspec.json.encode(payload))


def payload_type(payload: Any) -> str:  # noqa: ANN401 - any JSON
    """Return the type of a flag with this payload: boolean, number, string, object, or null for none."""
    return _TYPES[type(payload)]


def payloads_fit(experiment: Record) -> Iterator[Problem]:
    """Check that payloads are allowed to be public, and are of one type, which code can rely on."""
    payloads = [as_mapping(variant).get("payload") for variant in experiment.get("variants", ())]
    types = {index: payload_type(payload) for index, payload in enumerate(payloads) if payload is not None}
    if types and experiment.get("public_variants") is False:
        yield Problem(
            "public_variants", "must be true for variants with payloads, which anybody can read in the page"
        )
    first = next(iter(types), 0)
    for index, kind in types.items():
        if kind != types[first]:
            yield Problem(
                f"variants[{index}].payload",
                f"is of the type {kind}, and that of variants[{first}] of the type {types[first]}; "
                "the payloads of an experiment have one type",
            )
