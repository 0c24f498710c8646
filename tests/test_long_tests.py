"""Shares of the long tests: the same for a commit everywhere, full, and together everything."""

import ast
import hashlib
import subprocess
import sys

import pytest

from tests.long_tests import SHARE_SECONDS, WORKERS, share_of
from tests.test_tests import FOLDER, SOURCES

CRON = "tests/recipes/test_cron.py::test_a_night_ends_with_0_3_or_4_and_prints_what_has_to_be_read"
SECONDS = {
    f"test {number}": seconds for number, seconds in enumerate([100.0, 60, 40, 20, 10] * 6 + [3.0] * 300)
}


def commits(number: int) -> list[str]:
    return [hashlib.sha1(str(one).encode()).hexdigest() for one in range(number)]  # noqa: S324 - as Git's


def test_a_commit_has_one_share_and_another_commit_another() -> None:
    first, second = commits(2)
    assert share_of(SECONDS, first) == share_of(dict(reversed(SECONDS.items())), first)
    assert set(share_of(SECONDS, first)) != set(share_of(SECONDS, second))


def test_a_share_is_as_long_as_it_may_be() -> None:
    taken = [sum(SECONDS[name] for name in share_of(SECONDS, commit)) for commit in commits(50)]
    most = SHARE_SECONDS * WORKERS
    assert max(taken) <= most
    assert min(taken) > most - min(SECONDS.values())


def test_twenty_commits_run_nearly_every_test() -> None:
    left_out = [
        len(
            SECONDS.keys()
            - {name for commit in commits(400)[start : start + 20] for name in share_of(SECONDS, commit)}
        )
        for start in range(0, 400, 20)
    ]
    assert sum(left_out) / len(left_out) < 0.05 * len(SECONDS)


def test_every_long_test_says_how_long_and_fits_into_a_share() -> None:
    marks = [
        (path.relative_to(FOLDER), node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.long"
    ]
    calls = [
        (path.relative_to(FOLDER), keyword.value)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"pytest.mark.long", "examples"}
        for keyword in node.keywords
        if keyword.arg == "seconds"
    ]
    assert len(marks) > 20
    seconds = [(path, value.value) for path, value in calls if isinstance(value, ast.Constant)]
    assert [one for one in seconds if not 0 < float(str(one[1])) <= SHARE_SECONDS] == []
    assert len(calls) >= len(marks)


# They ask for trials through a function or a constant of their file.
BY_FILE = {"test_every_bar_is_met", "test_reports_day_by_day_give_the_actions_of_the_simulation"}
# Has the trials of the bars, which are in shares.
OF_THE_BARS = "test_a_group_sequential_test_has_the_power_that_its_larger_sample_was_planned_for"


def test_simulations_with_many_trials_are_in_shares_and_nothing_else_is() -> None:
    counted, marked = {*BY_FILE}, {OF_THE_BARS}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef):
                continue
            calls = {ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
            if "trials" in calls and node.name.startswith("test_"):
                counted.add(node.name)
            if "pytest.mark.many" in {ast.unparse(one).partition("(")[0] for one in node.decorator_list}:
                marked.add(node.name)
    assert len(counted) > 10
    assert counted == marked


@pytest.mark.parametrize(
    ("options", "number"),
    [(("tests/recipes/test_cron.py",), 0), (("--long", "tests/recipes/test_cron.py"), 1), ((CRON,), 1)],
    ids=["by itself", "--long", "by its id"],
)
def test_long_tests_are_left_out_unless_asked_for(options: tuple[str, ...], number: int) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    collected = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False).stdout
    assert len([line for line in collected.splitlines() if line.startswith(CRON)]) == number
