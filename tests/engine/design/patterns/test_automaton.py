"""Automata: they find what RE2 finds, in one step a character, and large ones are given up."""

import pytest
import re2
from hypothesis import assume, example, given
from hypothesis import strategies as st

from engine.design.patterns.automaton import (
    MAX_CELLS,
    MAX_STATES,
    Automaton,
)
from engine.design.patterns.automaton import (
    compile_pattern as compile_automaton,
)
from engine.validation.patterns import compile_pattern, pattern_problem
from tests.examples import examples

# Characters on which engines differ: lines, spaces, emoji, halves of surrogate pairs.
CHARACTERS = "ab1_-/.?=% \n\r\t\u00a0\u0130\u2028\u212a\U0001f600\ud83d\ude00"
TEXTS = st.text(st.sampled_from(CHARACTERS) | st.characters(), max_size=12)
# Separated by spaces; the last line is of what is refused.
_ATOMS = r"""
    a b 1 _ - / \. . % ] } { {,2} {01} , é 😀 \d \D \s \S \w \W \b \B ^ $ () (?:) (|a)
    \n \t \r \f \v \a \x41 \0 \12 \101 \- \/ \_ [x[:digit:]] [x[:^alpha:]] [a[:b] [\x41-\x43] [é-ü😀]
    [ab] [^ab] [a-c1] [^\d/] [\w-] [-a] [a-] [a\]] [.^$*] [^\n] [\s\S] [^\s\S] [\101]
    a** []a] [^]a] [^\b] \x{41} \8 \pL \A \z \Q \1 (?i) (?P<n>a) [b-a] [ )
"""
ATOMS = st.sampled_from([" ", *_ATOMS.split()])
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{2,3}?"])


@st.composite
def groups(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    opening = draw(st.sampled_from(["(", "(?:"]))
    return f"{opening}{draw(inner)}){draw(REPEATS)}"


def sequences(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.builds(str.__add__, inner, REPEATS)
    return st.lists(st.lists(repeated, max_size=4).map("".join), min_size=1, max_size=3).map("|".join)


PATTERNS = st.recursive(sequences(ATOMS), lambda inner: sequences(groups(inner) | ATOMS), max_leaves=8)


def compiled(pattern: str) -> Automaton:
    automaton = compile_automaton(pattern).automaton
    assert automaton is not None
    return automaton


def is_accepted(pattern: str) -> bool:
    """Return whether RE2 accepts a pattern, and we take it of users."""
    try:
        compile_pattern(pattern)
    except re2.error:
        return False
    return pattern_problem(pattern) is None


@examples(40, 500, seconds=10)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=8))
@example("[x[:digit:]]", ["x", "5", "y"])
@example("\\bé\\b", ["é", "aéa"])
@example("^|b$", ["", "ab", "ba"])
def test_an_automaton_finds_what_re2_finds(pattern: str, texts: list[str]) -> None:
    assume(is_accepted(pattern))
    automaton = compiled(pattern)
    expected = [compile_pattern(pattern)(text) for text in texts]
    assert [automaton.matches(text) for text in texts] == expected


@examples(50, 1000)
@given(st.text(st.sampled_from("ab1^$.|()[]{}*+?\\-,dwsbx: "), max_size=14), TEXTS)
def test_any_pattern_that_is_accepted_is_read_as_re2_reads_it(pattern: str, text: str) -> None:
    assume(is_accepted(pattern))
    automaton = compile_automaton(pattern).automaton
    assert automaton is None or automaton.matches(text) is compile_pattern(pattern)(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "^(a|a)*$",
        ".*.*.*=x",
        r"^https://shop\.example/(product|category)/[a-z0-9-]+(\?.*)?$",
        r"/(de|fr|it|es)/checkout/step-[1-4]/?$",
        r"utm_(source|medium)=(google|bing)[^&]*(&|$)",
        r"^/[^/]+/[^/]+/\d{4,8}$",
        r"\b(sale|discount|coupon)\b",
    ],
)
def test_usual_patterns_and_those_that_hang_a_browser_are_small(pattern: str) -> None:
    automaton = compiled(pattern)
    assert len(automaton.table) <= 1_500
    for text in ("https://shop.example/product/a-1?b=c", "a" * 2048, "/de/checkout/step-2", ""):
        assert automaton.matches(text) is compile_pattern(pattern)(text)


@examples(20, 300)
@given(PATTERNS)
def test_automata_are_as_small_as_they_may_be_sent(pattern: str) -> None:
    assume(is_accepted(pattern))
    automaton = compiled(pattern)
    states, rest = divmod(len(automaton.table), automaton.width)
    assert rest == 0
    assert states <= MAX_STATES
    assert len(automaton.table) <= MAX_CELLS
    assert automaton.starts[0] == 0
    assert list(automaton.starts) == sorted(set(automaton.starts))
    assert set(automaton.classes) == set(range(automaton.width))
    assert set(automaton.table) <= {-1, *range(states)}


def test_deep_groups_are_given_up() -> None:
    assert compile_automaton("(" * 240 + "a" + ")" * 240).automaton is not None
    assert compile_automaton("(" * 5_000 + ")" * 5_000).automaton is None


def test_half_a_surrogate_pair_reads_as_a_question_mark() -> None:
    automaton = compile_automaton(r"a\?b").automaton
    assert automaton is not None
    assert automaton.matches("a\ud800b")
    assert not automaton.matches("a\U0001f600b")
