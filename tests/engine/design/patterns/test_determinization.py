"""Determinization: the work on a pattern is bounded, whatever the pattern."""

import string

import pytest

from engine.design.patterns.automaton import compile_pattern
from engine.design.patterns.determinization import MATCHED, MAX_STATES, Determinization
from engine.design.patterns.nondeterministic import Nondeterministic
from engine.design.patterns.syntax import parse
from engine.design.patterns.work import MAX_STEPS, TooLargeError
from engine.validation.patterns import pattern_problem


@pytest.mark.parametrize(
    "pattern",
    ["(a|b)*a(a|b){20}", "a{999}", ".*".join(string.ascii_letters), "(a{1,30}b?){9}c"],
)
def test_a_large_automaton_is_given_up_after_bounded_work(pattern: str) -> None:
    assert pattern_problem(pattern) is None
    assert compile_pattern(pattern).automaton is None
    determinization = Determinization(Nondeterministic.of(parse(pattern)))
    with pytest.raises(TooLargeError):
        determinization.run()
    # One look beyond the bound may be at every state at once.
    assert determinization.work.steps <= MAX_STEPS + determinization.automaton.size
    assert len(determinization.numbers) <= MAX_STATES


def test_states_are_numbered_from_the_first_on_and_a_match_stays_one() -> None:
    machine = Determinization(Nondeterministic.of(parse("ab"))).run()
    a, b = (machine.classes[machine.starts.index(ord(letter))] for letter in "ab")
    after_a = machine.rows[0][a]
    after_b = machine.rows[after_a][b]
    assert machine.rows[0][b] not in {after_a, after_b, MATCHED}
    assert machine.rows[after_a][a] == after_a
    # What comes after a place is known at the next character, or at the end.
    assert set(machine.rows[after_b]) == {MATCHED}
    assert machine.ends == {after_b}
