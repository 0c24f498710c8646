"""Long tests and many examples: each commit runs one share of them, and the next commit the next share.

A run leaves out tests marked `long`, unless it has `--long` or names one by its id.
`--share=HASH` selects a share of the tests marked `long` and of the property tests: all of them are divided
into shares of SHARE_SECONDS for each worker; the number of commits that lead to this one says which is run.
So a commit has the same share on every machine, and as many commits as there are shares run everything.
"""

import hashlib
import heapq
import subprocess
from collections import Counter
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Final

import pytest

# Seconds of work for each of WORKERS.
SHARE_SECONDS: Final = 150
WORKERS: Final = 2
# Within so many commits each test has run.
MOST_SHARES: Final = 20
# What many examples of a property take, unless its `examples` say another number.
PROPERTY_SECONDS: Final = 2.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that select long tests."""
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")
    parser.addoption(
        "--share", metavar="HASH", help="run the share of long tests and of many examples of this commit"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that are not in the share that was asked for; without one, long tests."""
    commit = config.getoption("share")
    if commit is not None:
        named = dict(zip(names_of(items), items, strict=True))
        shares = divide({name: s for name, item in named.items() if (s := seconds_of(item))})
        chosen = [named[name] for name in shares[place_of(commit, config.rootpath) % len(shares)]]
    elif config.getoption("long") or any("::" in argument for argument in config.args):
        return
    else:
        chosen = [item for item in items if item.get_closest_marker("long") is None]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def names_of(items: Sequence[pytest.Item]) -> list[str]:
    """Name each test, with a number where several have one id, as those of generated requests have."""
    counts: Counter[str] = Counter()
    names = []
    for item in items:
        counts[item.nodeid] += 1
        names.append(f"{item.nodeid} {counts[item.nodeid]}")
    return names


def seconds_of(item: pytest.Item) -> float | None:
    """Return about how long a test takes that is a part of shares; None for any other."""
    for name in ("long", "many"):
        mark = item.get_closest_marker(name)
        if mark is not None:
            return float(mark.kwargs["seconds"])
    is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return PROPERTY_SECONDS if is_property else None


def divide(seconds: dict[str, float]) -> list[list[str]]:
    """Divide tests of these names and seconds into as few shares as hold them, about equally long.

    Raises pytest.UsageError for more than MOST_SHARES.
    """
    number = max(1, ceil(sum(seconds.values()) / (SHARE_SECONDS * WORKERS)))
    if number > MOST_SHARES:
        raise pytest.UsageError(
            f"long tests and many examples would take {number} commits, not {MOST_SHARES}"
        )
    shares: list[list[str]] = [[] for _ in range(number)]
    filled = [(0.0, share) for share in range(number)]
    # The longest first, each into the share that has least.
    for name in sorted(seconds, key=lambda name: (-seconds[name], hashlib.sha256(name.encode()).digest())):
        taken, share = heapq.heappop(filled)
        shares[share].append(name)
        heapq.heappush(filled, (taken + seconds[name], share))
    return shares


def place_of(commit: str, repository: Path) -> int:
    """Return how many commits lead to this one; without its history, a number that its hash gives."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(repository), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    if git("rev-parse", "--is-shallow-repository") == "false":
        count = git("rev-list", "--count", commit, "--")
        if count.isdecimal():
            return int(count)
    return int(hashlib.sha256(commit.encode()).hexdigest(), 16)
