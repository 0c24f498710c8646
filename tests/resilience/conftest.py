"""Processes that tests kill, and the warnings that a killed server leaves, allowed in every test here."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.resilience.killing import the_servers
from tests.resilience.kills import Workers, the_workers

HERE = Path(__file__).parent
# A server killed in the middle of an answer leaves its client's socket to the garbage collector.
LEFT_OPEN = (
    "ignore:.*unclosed <socket:ResourceWarning",
    "ignore:.*unclosed <socket:pytest.PytestUnraisableExceptionWarning",
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            for warning in LEFT_OPEN:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    with the_workers() as started:
        yield started


@pytest.fixture(scope="session")
def servers() -> Iterator[subprocess.Popen[str]]:
    with the_servers() as started:
        yield started
