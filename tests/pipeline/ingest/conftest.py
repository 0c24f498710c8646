"""A warehouse with an ingest that runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse
from tests.pipeline.ingest.running_ingest import running


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
def warehouse(settings: Settings) -> Iterator[Warehouse]:
    opened = Warehouse.open(settings)
    yield opened
    opened.close()


@pytest.fixture
def ingest(warehouse: Warehouse, settings: Settings) -> Iterator[Ingest]:
    with running(warehouse, settings) as started:
        yield started
