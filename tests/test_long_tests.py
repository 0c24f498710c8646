"""Shares of the long tests: the same for a commit everywhere, equally long, and together everything."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.long_tests import MOST_SHARES, SHARE_SECONDS, WORKERS, divide, place_of
from tests.test_tests import FOLDER, SOURCES

SECONDS = {
    f"test {number}": seconds for number, seconds in enumerate([100.0, 60, 40, 20, 10] * 6 + [3.0] * 300)
}


def test_shares_hold_every_test_once_and_are_about_equally_long() -> None:
    shares = divide(SECONDS)
    assert sorted(name for share in shares for name in share) == sorted(SECONDS)
    assert divide(dict(reversed(SECONDS.items()))) == shares
    taken = [sum(SECONDS[name] for name in share) for share in shares]
    assert len(taken) > 5
    assert max(taken) <= SHARE_SECONDS * WORKERS + min(SECONDS.values())
    assert max(taken) - min(taken) <= min(SECONDS.values())


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@shop.example")
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_commits_have_consecutive_places_and_keep_them(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    git(whole, "init", "--quiet")
    commits = []
    for number in range(4):
        git(whole, "commit", "--quiet", "--allow-empty", "--message", f"commit {number}")
        commits.append(git(whole, "rev-parse", "HEAD"))
    assert [place_of(one, whole) for one in commits] == [1, 2, 3, 4]
    git(tmp_path, "clone", "--quiet", "--depth=1", whole.as_uri(), "shallow")
    without_history = place_of(commits[-1], tmp_path / "shallow")
    assert without_history == place_of(commits[-1], tmp_path) != place_of(commits[-2], tmp_path)


def test_more_tests_than_twenty_commits_run_are_refused() -> None:
    fits = {f"test {number}": 100.0 for number in range(MOST_SHARES * WORKERS * SHARE_SECONDS // 100)}
    assert len(divide(fits)) == MOST_SHARES
    with pytest.raises(pytest.UsageError, match="would take 21 commits"):
        divide({**fits, "one more": 1.0})


def sources_with(*texts: str) -> Iterator[tuple[Path, ast.Module]]:
    """Parse the sources that have one of the texts: all of them would take seconds."""
    for path in SOURCES:
        source = path.read_text()
        if any(text in source for text in texts):
            yield path.relative_to(FOLDER), ast.parse(source)


def test_every_long_test_says_how_long_and_fits_into_a_share() -> None:
    marks: list[Path] = []
    calls: list[tuple[Path, ast.expr]] = []
    for path, tree in sources_with("mark.long", "examples("):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.long":
                marks.append(path)
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"pytest.mark.long", "examples"}:
                calls.extend((path, one.value) for one in node.keywords if one.arg == "seconds")
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
    for _, tree in sources_with("trials(", "mark.many"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            calls = {ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
            if "trials" in calls and node.name.startswith("test_"):
                counted.add(node.name)
            if "pytest.mark.many" in {ast.unparse(one).partition("(")[0] for one in node.decorator_list}:
                marked.add(node.name)
    assert len(counted) > 10
    assert counted == marked


def test_long_tests_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "test_kills.py"
    file.write_text("import pytest\n\n@pytest.mark.long(seconds=60)\ndef test_kills(): pass\n")
    # Beside this file alone: that of all tests imports the program.
    options = ["--collect-only", "-q", "-p", "tests.long_tests", "-p", "no:cacheprovider"]
    options += ["--rootdir", str(tmp_path), "-c", "/dev/null"]
    asked = {"by itself": [f"{file}"], "--long": ["--long", f"{file}"], "by its id": [f"{file}::test_kills"]}
    # In one process, most of which is the import of pytest and its plugins.
    code = f"import pytest\nfor name, asked in {asked}.items():\n"
    code += f"    print('asked', name, flush=True)\n    pytest.main([*{options}, *asked])\n"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    parts = [part.splitlines() for part in done.stdout.split("asked ")[1:]]
    counts = {name: len([line for line in rest if "::test_kills" in line]) for name, *rest in parts}
    assert counts == {"by itself": 0, "--long": 1, "by its id": 1}, done.stdout
