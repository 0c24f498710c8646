"""Structure of large JSON texts: brackets, commas and colons outside of strings, read in bounded slices."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

SLICE_BYTES: Final = 2**15
MAX_DEPTH: Final = 100

# Structural characters and quotes stand for themselves, all others for 0.
_TOKENS: Final = bytes(code if chr(code) in '"[]{},:' else 0 for code in range(256))
_QUOTE: Final = ord('"')
_STEP: Final = np.zeros(256, dtype=np.int64)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1


class NestingError(ValueError):
    """Lists and objects nested more than MAX_DEPTH levels deep, or brackets that do not match."""


class Tokens(NamedTuple):
    """Structural characters of a slice, in order: three arrays of one length.

    `levels` are 1 for the outermost list or object, its brackets included, 2 for those in it, and so on.
    """

    positions: npt.NDArray[np.int64]
    characters: npt.NDArray[np.uint8]
    levels: npt.NDArray[np.int64]


def structure(text: bytes) -> Iterator[Tokens]:
    """Find the structural characters of a JSON text, by slices of SLICE_BYTES.

    The grammar is not checked: each part between two of the characters has yet to be decoded.

    Raises:
        NestingError: for nesting of more than MAX_DEPTH levels, more closing brackets than opening ones, and
            an end inside a string, a list or an object.
    """
    in_string, is_escaped, depth = False, False, 0
    for start in range(0, len(text), SLICE_BYTES):
        part, is_escaped = _without_escapes(text[start : start + SLICE_BYTES], is_escaped)
        marks = np.frombuffer(part.translate(_TOKENS), dtype=np.uint8)
        positions = np.flatnonzero(marks)
        characters = marks[positions]
        is_quote = characters == _QUOTE
        # Only the parity counts, so that it may wrap around.
        quotes = np.cumsum(is_quote, dtype=np.uint8) + np.uint8(in_string)
        in_string = bool(quotes[-1] % 2) if quotes.size else in_string
        outside = np.flatnonzero((quotes % 2 == 0) & ~is_quote)
        positions, characters = positions[outside], characters[outside]
        steps = _STEP[characters]
        depths = np.cumsum(steps) + depth
        if depths.size:
            depth = int(depths[-1])
            _require_nested(depths)
        # A closing bracket stands on the level that it closes.
        yield Tokens(positions + start, characters, depths + (steps < 0))
    if in_string or depth:
        raise NestingError("it ends inside a string, a list or an object")


def _without_escapes(part: bytes, is_escaped: bool) -> tuple[bytes, bool]:  # noqa: FBT001 (returned alike)
    """Blank out escaped characters; `is_escaped` holds where the first one, or the next one, is escaped."""
    if is_escaped:
        part = b"_" + part[1:]
    if b"\\" not in part:
        return part, False
    # Pairs first, from the left: a quote after an even number of backslashes ends its string.
    part = part.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    return part, part.endswith(b"\\")


def _require_nested(depths: npt.NDArray[np.int64]) -> None:
    if depths.max() > MAX_DEPTH:
        raise NestingError(f"its lists and objects are nested more than {MAX_DEPTH} levels deep")
    if depths.min() < 0:
        raise NestingError("it closes a list or an object that is not open")
