"""Rules for tests: wait for conditions, compare no times, and skip nothing that CI can run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
# The one place with a clock and a pause.
WAITING = FOLDER / "waiting.py"
SOURCES = sorted({*FOLDER.rglob("*.py")} - {WAITING, Path(__file__)})
CLOCKS = {"monotonic", "perf_counter", "process_time", "time"}

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
        for line in compared_times(ast.parse(path.read_text()))
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
    assert len(list(compared_times(ast.parse(source)))) == count


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
