"""Which regular expressions are allowed, and that none of them can hold the service up."""

import pytest

from engine.validation.patterns import compile_pattern, pattern_problem


@pytest.mark.parametrize(
    "pattern", [r"/p/\d+$", r"^https?://", r"(?:a|b){2,5}", r"\(\?", r"caf[ée]", "", r"\.\w+"]
)
def test_ordinary_patterns_are_allowed(pattern: str) -> None:
    assert pattern_problem(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "[a", "a**", "a{1001}", "((a{100}){100}){100}", r"\8", "*a"),
        *("(?=a)", "(?<=a)", r"(a)\1"),
        *("(?i)a", "(?P<n>a)", r"\Aa", r"a\z", r"\pL", "[[:alpha:]]", "[]a]", "[^]a]", r"\x{41}", r"\Qa\E"),
        "a" * 501,
    ],
)
def test_what_no_engine_or_not_every_engine_reads_is_refused(pattern: str) -> None:
    assert pattern_problem(pattern)


# A backtracking engine takes 2 to the power of the length or more steps: the search would never return.
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "(a?){30}a{30}$"])
def test_patterns_that_blow_up_elsewhere_are_searched_to_the_end(pattern: str) -> None:
    occurs = compile_pattern(pattern)
    assert not occurs("a" * 30_000 + "!")
    assert occurs("!" + "a" * 30_000)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b+", "abbc", True),
        ("^b", "abbc", False),
        ("caf.$", "café", True),
        ("^.$", "😀", True),
        ("", "", True),
        ("a", "\ud800", False),
        ("a.b", "a\nb", False),
    ],
)
def test_a_pattern_is_looked_for_anywhere_in_a_text(pattern: str, text: str, *, expected: bool) -> None:
    assert compile_pattern(pattern)(text) is expected
