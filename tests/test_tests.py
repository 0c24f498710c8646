"""Rules for tests: wait for conditions, compare no times, skip nothing in CI, and check something."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unchecked_tests import loops_over_nothing

FOLDER = Path(__file__).parent
# The one place with a clock and a pause.
WAITING = FOLDER / "waiting.py"
SOURCES = sorted({*FOLDER.rglob("*.py")} - {WAITING, Path(__file__)})
CLOCKS = {"monotonic", "perf_counter", "process_time", "time"}
# Only sources that name a clock are parsed in search of one.
NAMES_CLOCK = re.compile(r"\b(monotonic|perf_counter|process_time|time\.time)\b")

# Also in scripts that a test starts; a pause of nothing lets other tasks run.
SLEEP = re.compile(r"\bsleep\((?!0\))")
SKIP = re.compile(r"\b(skipif|importorskip|xfail)\b|\bskip\((?!\"needs [^\"]+: apt-get install [\w-]+\"\))")


def test_there_are_tests() -> None:
    assert len(SOURCES) > 200


def test_no_test_sleeps() -> None:
    assert found(SLEEP) == []


def test_tests_skip_only_for_a_server_or_program_that_the_machine_lacks() -> None:
    assert found(SKIP) == []


def test_no_test_compares_a_time_with_a_number() -> None:
    slow = [
        f"{path.relative_to(FOLDER)}:{line}"
        for path in SOURCES
        if NAMES_CLOCK.search(source := path.read_text())
        for line in compared_times(ast.parse(source))
    ]
    assert slow == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("assert time.perf_counter() - started < 1", 1),
        ("assert 0.5 > monotonic() - begun", 1),
        ("assert begun < time.time()", 0),
        ("later = time.monotonic() + 60", 0),
    ],
)
def test_a_compared_time_is_found(source: str, count: int) -> None:
    assert NAMES_CLOCK.search(source)
    assert len(list(compared_times(ast.parse(source)))) == count


def test_no_test_checks_only_what_it_finds_in_a_loop() -> None:
    """A loop over nothing checks nothing: such a test first asserts that there is something."""
    empty = [
        f"{path.relative_to(FOLDER)}:{line}"
        for path in SOURCES
        for line in loops_over_nothing(ast.parse(path.read_text()))
    ]
    assert empty == []


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("for one in find(): assert one", 1),
        ("found = find()\n    for one in found: assert one", 1),
        ("for one in find():\n        with pytest.raises(ValueError): one()", 1),
        ("for one in (): assert one", 1),
        ("found = find()\n    assert found\n    for one in found: assert one", 0),
        ("for one in (1, 2): assert one", 0),
        ("for one in range(3): assert one", 0),
        ("for one, two in zip((1, 2), find(), strict=True): assert one", 0),
        ("for one in NAMES: assert one", 0),
        ("names = ['a']\n    for name in names: assert name", 0),
        ("assert all(one for one in find())", 0),
    ],
)
def test_a_test_that_may_check_nothing_is_found(body: str, count: int) -> None:
    assert len(list(loops_over_nothing(ast.parse(f"def test_it():\n    {body}")))) == count


def found(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(FOLDER)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]


def compared_times(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each comparison of a clock's time with a number."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        has_number = any(isinstance(side, ast.Constant) for side in sides)
        if has_number and any(reads_clock(inner) for side in sides for inner in ast.walk(side)):
            yield node.lineno


def reads_clock(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr=name)):
            return name in CLOCKS
        case ast.Call(func=ast.Name(id=name)):
            return name in CLOCKS - {"time"}
    return False
