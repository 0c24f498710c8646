import asyncio
from pathlib import Path
from typing import Any

import pytest

from api.sdk import snippet_answers
from api.sdk.snippet_answers import configuration_of
from pipeline.assignment.browser_config import browser_config
from pipeline.assignment.project_cache import ProjectCache
from tests.pipeline.working_store import a_working_store


def test_requests_at_once_share_one_configuration_and_a_failure_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def counted(*given: Any, sdk_key: str, **options: Any) -> dict[str, Any]:
        built.append(sdk_key)
        if len(built) == 1:
            raise OSError("once")
        return browser_config(*given, sdk_key=sdk_key, **options)

    monkeypatch.setattr(snippet_answers, "browser_config", counted)
    with a_working_store(tmp_path) as store:
        cached = ProjectCache(store.catalog).with_id(store.add_project().id)

        async def ask() -> list[str]:
            with pytest.raises(OSError, match="once"):
                await configuration_of(cached, "pk_1")
            first = await asyncio.gather(*(configuration_of(cached, "pk_1") for _ in range(5)))
            other = await configuration_of(cached, "pk_2")
            return [found.content["sdk_key"] for found in (*first, other)]

        assert asyncio.run(ask()) == ["pk_1"] * 5 + ["pk_2"]
    assert built == ["pk_1", "pk_1", "pk_2"]
