"""Stores whose snapshots are written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.working_store import WorkingStore, a_working_store


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[WorkingStore]:
    """Open a store of one test, whose events are numbered from one."""
    with a_working_store(tmp_path) as opened:
        yield opened
