"""Division of a large body into its events, in slices between which other requests are served."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from pipeline.events.json_structure import SLICE_BYTES, NestingError, Tokens, structure

MAX_EVENTS: Final = 500
# Of the members beside the events, and the white space among them.
MAX_AROUND_BYTES: Final = 2**16
# A longer name is not that of the array.
_MAX_NAME_BYTES: Final = 100
WHITE_SPACE: Final = b" \t\n\r"
_CLOSING: Final = frozenset(b"]}")
_COMMA, _COLON, _OPENING = b",:["


class TooManyEventsError(ValueError):
    """More events than one request may carry."""


class TooMuchAroundError(ValueError):
    """More than MAX_AROUND_BYTES beside the events."""


@dataclass(slots=True)
class Batch:
    """The array `batch` of a body: where it starts and ends, and the same of each of its events.

    `start` is None until the array is found.
    """

    body: bytes
    events: list[tuple[int, int]] = field(default_factory=list)
    start: int | None = None
    end: int = 0
    # The last bracket, comma or colon so far.
    last: int = -1
    _is_open: bool = False
    # Where the present name or event starts, and whether the next array is the one to find.
    _begun: int = 0
    _is_named: bool = False

    @property
    def around(self) -> bytes:
        """The body without its events: JSON with an empty array."""
        after = self.last + 1
        if self.start is None:
            return self.body[:after]
        return self.body[: self.start] + self.body[self.end : after]

    def read(self, tokens: Tokens) -> None:
        """Read the next slice of the body's structure; TooManyEventsError, TooMuchAroundError."""
        # Whatever stands inside of an event is on a deeper level.
        near = np.flatnonzero(tokens.levels <= 2)
        columns = (column[near].tolist() for column in tokens)
        for position, character, level in zip(*columns, strict=True):
            if level == 1:
                self._read_member(position, character)
            elif self._is_open:
                self._read_event(position, character)
            elif self._is_named and character == _OPENING:
                self.start, self._begun = position + 1, position + 1
                self._is_open, self._is_named = True, False
        if tokens.positions.size:
            self.last = int(tokens.positions[-1])
        if not self._is_open:
            inside = 0 if self.start is None else self.end - self.start
            if self.last - inside > MAX_AROUND_BYTES:
                raise TooMuchAroundError(
                    f"the body has more than {MAX_AROUND_BYTES:,} bytes beside its events; send fewer"
                )

    def _read_member(self, position: int, character: int) -> None:
        if character == _COLON:
            name = self.body[self._begun : position]
            self._is_named = self.start is None and _is_batch(name)
        else:
            self._begun, self._is_named = position + 1, False

    def _read_event(self, position: int, character: int) -> None:
        if character == _COMMA:
            self.events.append((self._begun, position))
            self._begun = position + 1
            if len(self.events) == MAX_EVENTS:
                raise TooManyEventsError(f"more than {MAX_EVENTS} events in one request; send fewer at once")
        elif character in _CLOSING:
            if self.events or self.body[self._begun : position].strip():
                self.events.append((self._begun, position))
            self.end, self._is_open = position, False


def find_batch(body: bytes) -> Generator[None, None, Batch]:
    """Find the events of a body, pausing after each slice; nothing after the 501st event is read.

    Raises:
        NestingError: brackets that are nested too deeply, or do not match.
        TooManyEventsError: more than MAX_EVENTS events.
        TooMuchAroundError: more than MAX_AROUND_BYTES beside them.
    """
    batch = Batch(body)
    for tokens in structure(body):
        batch.read(tokens)
        yield
    for start in range(batch.last + 1, len(body), SLICE_BYTES):
        if body[start : start + SLICE_BYTES].strip(WHITE_SPACE):
            raise NestingError("it goes on after its end")
        yield
    return batch


def _is_batch(name: bytes) -> bool:
    try:
        return len(name) <= _MAX_NAME_BYTES and msgspec.json.decode(name) == "batch"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
