"""A service that a test of jobs restarts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.restartable_service import RestartableService


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RestartableService]:
    opened = RestartableService(tmp_path)
    opened.start()
    yield opened
    opened.stop()
