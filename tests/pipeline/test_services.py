import asyncio
from pathlib import Path

import pytest

from pipeline.ingest.errors import OverloadedError
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse, WarehouseBusyError
from tests.builders import NOW
from tests.pipeline.working_store import an_event


def test_an_open_pipeline_stores_events_and_tells_the_time_of_its_clock(tmp_path: Path) -> None:
    with open_pipeline(Settings(data_dir=tmp_path), clock=lambda: NOW) as services:
        asyncio.run(services.ingest.submit("prj_1", [an_event("pageview", url="https://shop.example/")]))
        assert services.ingest.last_seq_of("prj_1") == 1
        assert services.catalog.projects.all() == []
        assert services.clock() == NOW


def test_a_closed_pipeline_takes_no_events_and_frees_the_folder(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with open_pipeline(settings) as services:
        pass
    with pytest.raises(OverloadedError):
        asyncio.run(services.ingest.submit("prj_1", [an_event("pageview")]))
    with open_pipeline(settings) as again:
        assert again.warehouse.path == settings.warehouse_path


def test_a_pipeline_that_cannot_be_opened_leaves_the_folder_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=tmp_path)

    def refuse(_: Settings) -> Warehouse:
        raise WarehouseBusyError(settings.warehouse_path)

    with monkeypatch.context() as broken:
        broken.setattr(Warehouse, "open", refuse)
        with pytest.raises(WarehouseBusyError), open_pipeline(settings):
            pass
    with open_pipeline(settings) as services:
        assert services.catalog.projects.all() == []


def test_an_opened_store_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "store")
    with open_pipeline(settings):
        pass
    folders = (
        settings.spool_path,
        settings.refused_events_path,
        settings.assignments_path,
        settings.event_keys_path,
        settings.snapshots_path,
    )
    for folder in folders:
        folder.mkdir(exist_ok=True)
        (folder / "file").touch()
    found = [settings.data_dir, *settings.data_dir.rglob("*")]
    for path in found:
        path.chmod(0o777)
    with open_pipeline(settings):
        pass
    assert [path for path in found if path.exists() and path.stat().st_mode & 0o077] == []
