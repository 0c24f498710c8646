"""A store whose snapshots are written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.working_store import WorkingStore, a_working_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened
