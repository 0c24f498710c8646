"""Request ids on every answer, and unexpected errors answered with one."""

import re

import pytest
from fastapi.testclient import TestClient

from api.services import Services
from tests.api.broken_catalog import a_catalog_without_projects
from tests.api.customers import Customer
from tests.api.request_bodies import error_of


def test_every_answer_has_a_request_id_of_its_own(client: TestClient, customer: Customer) -> None:
    answers = [
        client.get("/healthz"),
        client.get("/openapi.json"),
        customer.get("/projects"),
        client.get("/x"),
    ]
    ids = [answer.headers["X-Request-Id"] for answer in answers]
    assert len(set(ids)) == len(ids)


def test_what_nobody_foresaw_is_answered_and_logged(
    customer: Customer, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    with a_catalog_without_projects(services):
        answer = customer.get("/projects")
    error = error_of(answer, 500, "internal_error")
    assert "projects" not in error["message"]
    assert error["request_id"] in caplog.text
    # As SQLite says it, or PostgreSQL.
    assert re.search("no such table|does not exist", caplog.text)
