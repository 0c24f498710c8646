import pytest

from tests.pipeline.working_store import WorkingStore


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    """One store for all tests of a file: each has a project of its own in it."""
    return module_store
