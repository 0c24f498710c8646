"""Syntax of regular expressions: RE2's, as far as patterns may use it, parsed into a tree."""

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from engine.design.patterns.character_sets import (
    ANY_BUT_NEWLINE,
    NAMED_CLASSES,
    PERL_CLASSES,
    Ranges,
    complement,
    union,
)

Boundary = Literal["start", "end", "word", "no_word"]


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place without a character: the start or end of the text, or a word boundary or none."""

    boundary: Boundary


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other; the empty text without any."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A part from `least` to `most` times; None without an end. Lazy ones match the same texts."""

    part: "Node"
    least: int
    most: int | None


Node: TypeAlias = Characters | Assertion | Sequence | Choice | Repetition

_REPEATS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}
# RE2 takes braces for text where they are not written like this.
_BRACES: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}", re.ASCII)
_OCTAL: Final = re.compile(r"[0-7]{1,3}", re.ASCII)
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})", re.ASCII)
_NAMED: Final = re.compile(r"\[:(\^?)([a-z]+):\]", re.ASCII)
_CONTROLS: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_BOUNDARIES: Final[dict[str, Boundary]] = {"b": "word", "B": "no_word"}


class UnknownSyntaxError(ValueError):
    """A pattern that RE2 or this parser does not read."""


def parse(pattern: str) -> Node:
    """Parse a pattern that RE2 accepts, without flags; UnknownSyntaxError, RecursionError for deep groups."""
    parser = _Parser(pattern)
    node = parser.choice()
    if parser.position != len(pattern):
        raise UnknownSyntaxError(f"unexpected {pattern[parser.position]!r} at {parser.position}")
    return node


@dataclass(slots=True)
class _Parser:
    pattern: str
    position: int = 0

    def choice(self) -> Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        """Read what repeats a part; RE2 takes one such operator alone."""
        operator = self.pattern[self.position : self.position + 1]
        if operator in _REPEATS and operator:
            self.position += 1
            least, most = _REPEATS[operator]
        elif braces := _BRACES.match(self.pattern, self.position):
            self.position = braces.end()
            least = int(braces[1])
            most = least if braces[2] is None else (None if braces[3] is None else int(braces[3]))
        else:
            return part
        # A lazy operator.
        self._take("?")
        return Repetition(part, least, most)

    def _atom(self) -> Node:
        character = self._next()
        if character == "(":
            if self._take("?") and not self._take(":"):
                raise UnknownSyntaxError("a group with flags or a name")
            group = self.choice()
            if not self._take(")"):
                raise UnknownSyntaxError("a group without an end")
            return group
        if character == "[":
            return Characters(self._brackets())
        if character == ".":
            return Characters(ANY_BUT_NEWLINE)
        if character in "^$":
            return Assertion("start" if character == "^" else "end")
        if character == "\\":
            return self._escape()
        if character in "*+?":
            raise UnknownSyntaxError(f"nothing before {character!r} to repeat")
        return Characters(_one(ord(character)))

    def _escape(self) -> Node:
        letter = self.pattern[self.position : self.position + 1]
        if letter in _BOUNDARIES:
            self.position += 1
            return Assertion(_BOUNDARIES[letter])
        return Characters(self._perl_class() or _one(self._escaped_character()))

    def _perl_class(self) -> Ranges | None:
        """Read the letter of a class of PERL_CLASSES after its backslash, if there is one."""
        ranges = PERL_CLASSES.get(self.pattern[self.position : self.position + 1])
        if ranges is not None:
            self.position += 1
        return ranges

    def _escaped_character(self) -> int:
        """Read one character after a backslash, as a code point."""
        if octal := _OCTAL.match(self.pattern, self.position):
            if len(octal[0]) == 1 and octal[0] != "0":
                raise UnknownSyntaxError("a reference to a group")
            self.position = octal.end()
            return int(octal[0], 8)
        if hexadecimal := _HEX.match(self.pattern, self.position):
            self.position = hexadecimal.end()
            return int(hexadecimal[1], 16)
        letter = self._next()
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter.isalnum():
            raise UnknownSyntaxError(f"the escape \\{letter}")
        return ord(letter)

    def _brackets(self) -> Ranges:
        """Read a set after its opening bracket."""
        is_negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        is_first = True
        while is_first or not self._take("]"):
            is_first = False
            if named := _NAMED.match(self.pattern, self.position):
                self.position = named.end()
                found = NAMED_CLASSES.get(named[2])
                if found is None:
                    raise UnknownSyntaxError(f"the class {named[2]}")
                ranges += complement(found) if named[1] else found
            else:
                ranges += self._member()
        found = union(ranges)
        return complement(found) if is_negated else found

    def _member(self) -> Ranges:
        """Read a class, a character or a range of a set in brackets."""
        if self._take("\\"):
            if ranges := self._perl_class():
                return ranges
            first = self._escaped_character()
        else:
            first = ord(self._next())
        following = self.pattern[self.position : self.position + 2]
        if not following.startswith("-") or following in {"-", "-]"}:
            return _one(first)
        self.position += 1
        last = self._escaped_character() if self._take("\\") else ord(self._next())
        if last < first:
            raise UnknownSyntaxError("a range that ends before it starts")
        return ((first, last),)

    def _next(self) -> str:
        if self.position >= len(self.pattern):
            raise UnknownSyntaxError("the pattern ends too early")
        self.position += 1
        return self.pattern[self.position - 1]

    def _take(self, character: str) -> bool:
        """Read a character if it is the next one."""
        is_next = self.pattern.startswith(character, self.position)
        self.position += is_next
        return is_next


def _one(code_point: int) -> Ranges:
    return ((code_point, code_point),)
