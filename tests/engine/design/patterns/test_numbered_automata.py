"""Numbered automata: each pattern once, and bounded in number and size together."""

from engine.design.patterns.automaton import compile_automaton
from engine.design.patterns.numbered_automata import NumberedAutomata

LARGE = "(a|b)*a(a|b){20}"


def test_patterns_are_numbered_as_they_are_added_each_once() -> None:
    numbered = NumberedAutomata()
    assert numbered.add(["a", "b", "a"])
    assert numbered.add(["c", "a"])
    assert [numbered.number_of(pattern) for pattern in "abc"] == [0, 1, 2]
    assert numbered.automata == [compile_automaton(pattern) for pattern in "abc"]


def test_all_patterns_are_added_or_none() -> None:
    numbered = NumberedAutomata()
    assert not numbered.add(["a", LARGE])
    assert numbered.automata == []
    assert numbered.add(["b"])
    assert numbered.number_of("b") == 0


def test_what_exceeds_the_size_together_is_not_added() -> None:
    one = compile_automaton("^a$")
    assert one is not None
    numbered = NumberedAutomata(max_total_cells=2 * (len(one.table) + len(one.starts)))
    assert numbered.add(["^a$"])
    assert numbered.add(["^b$"])
    assert not numbered.add(["^c$"])
    assert numbered.add(["^a$"])


def test_what_exceeds_the_number_is_not_compiled() -> None:
    numbered = NumberedAutomata(max_patterns=2)
    assert not numbered.add([LARGE])
    assert numbered.add(["a"])
    assert not numbered.add(["b"])
    assert numbered.add(["a"])
    assert numbered.add([])
