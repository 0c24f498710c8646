import asyncio
import logging
from pathlib import Path

import pytest

from api.sdk.snippet_verification import SnippetVerification
from pipeline.assignment.project_cache import ProjectCache
from pipeline.store.catalog.errors import CatalogBusyError
from tests.pipeline.working_store import a_working_store

PAGE = "https://shop.example/cart"


def test_a_project_is_marked_once_however_many_pages_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        cached = ProjectCache(store.catalog).with_id(project.id)
        changed: list[str] = []
        change = store.catalog.projects.change

        def counted(*arguments: object, **named: object) -> object:
            changed.append("once")
            return change(*arguments, **named)  # type: ignore[arg-type] # passed on

        monkeypatch.setattr(type(store.catalog.projects), "change", lambda _, *a, **n: counted(*a, **n))
        verification = SnippetVerification(store.catalog)

        async def call() -> None:
            await asyncio.gather(*(verification.see(cached, PAGE) for _ in range(5)))
            await verification.see(cached, PAGE)

        asyncio.run(call())
        assert changed == ["once"]
        assert store.catalog.projects.find(project.id).snippet_verified


def test_a_busy_catalog_fails_no_request_and_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise CatalogBusyError("busy")

    with a_working_store(tmp_path) as store:
        project = store.add_project()
        cached = ProjectCache(store.catalog).with_id(project.id)
        verification = SnippetVerification(store.catalog)
        with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
            patched.setattr(type(store.catalog.projects), "change", fail)
            asyncio.run(verification.see(cached, PAGE))
        assert "is not marked as verified" in caplog.text
        asyncio.run(verification.see(cached, PAGE))
        assert store.catalog.projects.find(project.id).snippet_verified
