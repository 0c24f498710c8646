"""Numbered automata: each pattern once, and bounded in number and size together."""

from engine.design.patterns.automaton import compile_pattern
from engine.design.patterns.numbered_automata import NumberedAutomata

LARGE = "(a|b)*a(a|b){20}"


def test_patterns_are_numbered_as_they_are_added_each_once() -> None:
    numbered = NumberedAutomata()
    assert numbered.add(["a", "b", "a"])
    assert numbered.add(["c", "a"])
    assert [numbered.number_of(pattern) for pattern in "abc"] == [0, 1, 2]
    assert numbered.automata == [compile_pattern(pattern).automaton for pattern in "abc"]


def test_all_patterns_are_added_or_none() -> None:
    numbered = NumberedAutomata()
    assert not numbered.add(["a", LARGE])
    assert numbered.automata == []
    assert numbered.add(["b"])
    assert numbered.number_of("b") == 0


def test_what_exceeds_the_size_together_is_not_added() -> None:
    one = compile_pattern("^a$").automaton
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


def test_what_exceeds_the_work_together_is_not_compiled() -> None:
    compile_pattern.cache_clear()
    numbered = NumberedAutomata(max_total_steps=1)
    assert numbered.add(["a"])
    assert not numbered.add(["b", "c"])
    assert compile_pattern.cache_info().misses == 1
    assert numbered.add(["a"])


def test_work_counts_for_patterns_that_were_compiled_before() -> None:
    steps = compile_pattern("^a$").steps
    assert steps > 0
    for _ in range(2):
        numbered = NumberedAutomata(max_total_steps=steps)
        assert numbered.add(["^a$"])
        assert not numbered.add(["^b$"])
