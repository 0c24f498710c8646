from collections.abc import Iterator

import pytest

from tests.pipeline.working_store import WorkingStore, a_working_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    """One store for all tests of a file: each has a project of its own in it."""
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened
