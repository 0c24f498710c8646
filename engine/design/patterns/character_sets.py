"""Character sets: sorted, disjoint ranges of code points."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

# First and last code point of each range, in order, with gaps between them.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

LAST: Final = 0x10FFFF


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort ranges and merge those that overlap or touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Return every other code point."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in ranges:
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)


def _of(*parts: str) -> Ranges:
    """Build a set of single characters, and of ranges written as two characters around a hyphen."""
    pairs = [(part[0], part[-1]) if len(part) == len("a-z") else (part, part) for part in parts]
    return union((ord(first), ord(last)) for first, last in pairs)


DIGIT: Final = _of("0-9")
SPACE: Final = _of("\t", "\n", "\f", "\r", " ")
WORD: Final = _of("0-9", "A-Z", "_", "a-z")
ANY_BUT_NEWLINE: Final = complement(_of("\n"))

# Classes after a backslash; a capital letter stands for the others. RE2's, which are of ASCII alone.
PERL_CLASSES: Final[Mapping[str, Ranges]] = {
    letter: ranges
    for name, among in (("d", DIGIT), ("s", SPACE), ("w", WORD))
    for letter, ranges in ((name, among), (name.upper(), complement(among)))
}
# Classes of the form [:alpha:] within brackets, as RE2 documents them.
NAMED_CLASSES: Final[Mapping[str, Ranges]] = {
    "alnum": _of("0-9", "A-Z", "a-z"),
    "alpha": _of("A-Z", "a-z"),
    "ascii": ((0, 0x7F),),
    "blank": _of("\t", " "),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": DIGIT,
    "graph": _of("!-~"),
    "lower": _of("a-z"),
    "print": _of(" -~"),
    "punct": _of("!-/", ":-@", "[-`", "{-~"),
    "space": _of("\t-\r", " "),
    "upper": _of("A-Z"),
    "word": WORD,
    "xdigit": _of("0-9", "A-F", "a-f"),
}
