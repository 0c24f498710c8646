"""Work: every part of compiling counts, and the most is held."""

import pytest

from engine.design.patterns.automaton import compile_pattern
from engine.design.patterns.work import MAX_STEPS, TooLargeError, Work

# Sets of which each character is in a few, so that there are many classes.
WIDE = "".join(f"[{chr(n)}{chr(n + 2)}{chr(n + 4)}{chr(n + 6)}]" for n in range(0x100, 0x150))
LARGE_SET = "[" + "".join(chr(0x100 + 2 * n) for n in range(440)) + "]"


def test_work_ends_at_the_most() -> None:
    work = Work(most=3)
    work.count(3)
    with pytest.raises(TooLargeError):
        work.count(1)


@pytest.mark.parametrize("pattern", [WIDE, LARGE_SET + "{200}", "^.{900}$", "^(" + LARGE_SET + "|a){250}$"])
def test_classes_intersections_and_minimization_count(pattern: str) -> None:
    assert len(pattern) <= 500
    assert MAX_STEPS / 4 < compile_pattern(pattern).steps < 2 * MAX_STEPS


@pytest.mark.parametrize(
    "pattern", [r"^https://shop\.example/(de|fr)/product/[0-9]+$", "utm_(source|medium)=[a-z]+"]
)
def test_usual_patterns_take_little(pattern: str) -> None:
    assert compile_pattern(pattern).steps < MAX_STEPS / 20
