"""Turns of a project: one at a time, given on in order, and waited for."""

import threading

from pipeline.runs.project_turns import ProjectTurns
from tests.waiting import wait_until


def test_a_turn_is_refused_while_another_has_it_and_told_of_its_end() -> None:
    told: list[str] = []
    turns = ProjectTurns(told.append)
    with (
        turns.attempt("one") as is_free,
        turns.attempt("one") as is_free_again,
        turns.attempt("two") as other,
    ):
        assert (is_free, is_free_again, other) == (True, False, True)
        assert told == []
    assert told == ["one"]
    with turns.attempt("one") as is_free:
        assert is_free
    assert told == ["one"]


def test_turns_that_are_waited_for_never_overlap() -> None:
    turns = ProjectTurns(lambda _project: None)
    inside, most = 0, 0

    def take() -> None:
        nonlocal inside, most
        for _ in range(200):
            with turns.wait("one"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_turn_that_is_waited_for_comes_before_further_attempts() -> None:
    turns = ProjectTurns(lambda _project: None)
    taken: list[str] = []
    may_end = threading.Event()

    def take() -> None:
        with turns.wait("one"):
            taken.append("waited")
            may_end.wait(60)

    with turns.attempt("one"):
        thread = threading.Thread(target=take)
        thread.start()
        wait_until(lambda: turns._waiting["one"] > 0)  # noqa: SLF001  # else unseen
    with turns.attempt("one") as is_free:
        assert not is_free
    may_end.set()
    thread.join()
    assert taken == ["waited"]
    with turns.attempt("one") as is_free:
        assert is_free
