"""Nondeterministic automata: bounded, and one path for every text that matches."""

import pytest

from engine.design.patterns.nondeterministic import MAX_STATES, Nondeterministic
from engine.design.patterns.syntax import parse
from engine.design.patterns.work import TooLargeError


def test_a_pattern_without_characters_leads_to_the_end() -> None:
    automaton = Nondeterministic.of(parse(""))
    assert automaton.free[automaton.start] == [automaton.end]
    assert automaton.characters == {}


COPIES = {"a{3}": 3, "a{1,4}": 4, "a{2,}": 3, "a*": 1, "a{0}": 0}


@pytest.mark.parametrize(("pattern", "copies"), COPIES.items())
def test_a_repetition_has_a_copy_for_each_time(pattern: str, copies: int) -> None:
    assert len(Nondeterministic.of(parse(pattern)).characters) == copies


def test_a_pattern_of_too_many_states_is_refused() -> None:
    assert Nondeterministic.of(parse("a{900}")).size < MAX_STATES
    with pytest.raises(TooLargeError):
        Nondeterministic.of(parse("((a?){50}){50}"))
