"""Pages are written on threads of their own, few at once, and no page is larger than a page may be."""

import asyncio
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.dashboard import page_answers
from api.services import PAGE_THREADS, Services
from tests.api.customers import Customer


def test_a_page_is_written_off_the_loop_on_one_of_few_threads(
    browser: TestClient, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    services: Services = browser.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
    written = list[tuple[bool, float]]()
    write_page = page_answers.write_page

    def noted(template: str, values: dict[str, Any]) -> bytes:
        written.append((runs_a_loop(), services.page_threads.borrowed_tokens))
        return write_page(template, values)

    monkeypatch.setattr(page_answers, "write_page", noted)
    assert browser.get(project).status_code == 200
    assert written == [(False, 1)]
    assert services.page_threads.total_tokens == PAGE_THREADS


def runs_a_loop() -> bool:
    """Whether this thread is that of an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def test_a_page_with_too_much_is_refused_in_words(
    customer: Customer, project: str, browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = customer.an_experiment(project, hypothesis="long " * 900)
    page = browser.get(f"{path}/edit")
    assert page.status_code == 200
    monkeypatch.setattr(page_answers, "MAX_PAGE_BYTES", len(page.content) - 1)
    refused = browser.get(f"{path}/edit")
    assert refused.status_code == 422
    assert "There is too much for a page. Ask the API" in refused.text
    monkeypatch.setattr(page_answers, "MAX_PAGE_BYTES", len(page.content))
    assert browser.get(f"{path}/edit").status_code == 200
