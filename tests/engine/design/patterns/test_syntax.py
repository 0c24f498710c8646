"""Syntax: the tree of a pattern, as RE2 reads it."""

import pytest

from engine.design.patterns.character_sets import DIGIT, complement
from engine.design.patterns.syntax import (
    Assertion,
    Characters,
    Choice,
    Repetition,
    Sequence,
    UnknownSyntaxError,
    parse,
)

A, B = Characters(((97, 97),)), Characters(((98, 98),))


def test_operators_bind_as_usual() -> None:
    assert parse("ab|b") == Choice((Sequence((A, B)), B))
    assert parse("ab*") == Sequence((A, Repetition(B, 0, None)))
    assert parse("(ab)+?") == Repetition(Sequence((A, B)), 1, None)
    assert parse("(?:a|)") == Choice((A, Sequence(())))


def test_braces_repeat_where_re2_says_so_and_are_text_elsewhere() -> None:
    assert parse("a{2,3}?") == Repetition(A, 2, 3)
    assert parse("a{2,}") == Repetition(A, 2, None)
    assert parse("a{02}") == Sequence((A, *(Characters(((ord(letter), ord(letter)),)) for letter in "{02}")))


def test_escapes_are_characters_classes_and_places() -> None:
    assert parse("\\x61") == parse("\\141") == A
    assert parse("\\D") == Characters(complement(DIGIT))
    assert parse("^\\b$") == Sequence((Assertion("start"), Assertion("word"), Assertion("end")))


def test_brackets_join_ranges_and_classes() -> None:
    assert parse("[b-cab]") == Characters(((97, 99),))
    assert parse("[]-]") == Characters(((45, 45), (93, 93)))
    assert parse("[^\\d]") == parse("[^[:digit:]]") == Characters(complement(DIGIT))


UNREADABLE = r"( ) [a *a a** \ \1 \8 \pL (?i)a (?P<n>a) [b-a] [[:no:]] [\b]"


@pytest.mark.parametrize("pattern", UNREADABLE.split())
def test_what_cannot_be_read_is_an_error(pattern: str) -> None:
    with pytest.raises(UnknownSyntaxError):
        parse(pattern)
