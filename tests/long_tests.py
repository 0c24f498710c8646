"""Long tests and many examples: a share of them for each commit, chosen by the commit's hash.

A run leaves out tests marked `long`, unless it has `--long` or names one by its id.
`--share=HASH` selects tests marked `long` and property tests in an order that the hash gives, until their
declared seconds fill SHARE_SECONDS of each worker. Every commit has another share, and the same share again
wherever it is run.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest

# Seconds of work for each of WORKERS.
SHARE_SECONDS: Final = 150
WORKERS: Final = 2
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
        share = share_of({name: s for name, item in named.items() if (s := seconds_of(item))}, commit)
        chosen = [named[name] for name in named.keys() & set(share)]
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


def share_of(seconds: dict[str, float], commit: str) -> Sequence[str]:
    """Choose tests of these names and seconds in the order of a hash, and skip what does not fit any more."""
    left, chosen = float(SHARE_SECONDS * WORKERS), []
    for name in sorted(seconds, key=lambda name: hashlib.sha256(f"{commit} {name}".encode()).digest()):
        if seconds[name] <= left:
            left -= seconds[name]
            chosen.append(name)
    return chosen
