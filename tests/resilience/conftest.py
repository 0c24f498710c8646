"""The work that tests kill, and the warnings that a killed server leaves, allowed in every test here."""

from pathlib import Path

import pytest

from tests.resilience.kills import Workers

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


@pytest.fixture
def workers() -> Workers:
    return Workers()
