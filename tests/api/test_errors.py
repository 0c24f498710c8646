import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient

from api.errors import ERROR_CODES
from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of


def test_unknown_path_is_not_found(client: TestClient) -> None:
    for path in ("/", "/api/v1", "/api/v1/nothing", "/api/v2/projects", "/api/v1/projects/", "/docs"):
        error_of(client.get(path), 404, "not_found")


def test_wrong_method_is_told_the_right_ones(customer: Customer, project: str) -> None:
    answer = customer.call("PUT", project)
    error_of(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, PATCH, DELETE"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{'a': 1}",
        b'{"name": "\\ud800"}',
        b'{"name": NaN}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"name": ' + b"9" * 5_000 + b"}",
        b'{"name": 1e999}',
    ],
)
def test_body_that_is_no_json_is_told_so(customer: Customer, body: bytes) -> None:
    answer = customer.call("POST", "/projects", content=body, headers={"Content-Type": "application/json"})
    error_of(answer, 400, "invalid_json")


@pytest.mark.parametrize("body", [[], "text", 1, None, True])
def test_body_that_is_no_object_is_invalid(customer: Customer, body: object) -> None:
    answer = customer.call(
        "POST", "/projects", content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert fields_of(error_of(answer, 422, "validation_error")) == ["body"]


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_body_of_another_media_type_is_refused(customer: Customer, media_type: str) -> None:
    answer = customer.call("POST", "/projects", content=b"{}", headers={"Content-Type": media_type})
    error_of(answer, 415, "unsupported_media_type")


def test_media_type_may_name_its_charset(customer: Customer) -> None:
    body = json.dumps({"name": "Läden", "url": "https://shop.example"}, ensure_ascii=False).encode()
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = customer.call("POST", "/projects", content=body, headers=headers)
    assert answer.json()["data"]["name"] == "Läden"


def test_body_beyond_a_mebibyte_is_too_large(customer: Customer) -> None:
    body = json.dumps({"name": "x" * 2**20}).encode()
    headers = {"Content-Type": "application/json"}
    error_of(customer.call("POST", "/projects", content=body, headers=headers), 413, "payload_too_large")


def test_body_that_hides_its_size_is_too_large_all_the_same(customer: Customer) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 2**15

    headers = {"Content-Type": "application/json"}
    error_of(customer.call("POST", "/projects", content=chunks(), headers=headers), 413, "payload_too_large")


def test_every_problem_of_a_body_is_named_at_once(customer: Customer, project: str) -> None:
    body = {
        "name": "",
        "traffic_allocation": 101,
        "colour": "red",
        "assigned_user_ids": ["mem_nobody"],
        "variants": [{"name": "A", "weight": -1}, {"name": "A", "weight": "heavy"}],
        "goals": [{"name": "G", "goal_type": "pageview", "config": {}}],
    }
    error = error_of(customer.post(f"{project}/experiments", body), 422, "validation_error")
    assert {
        "name",
        "traffic_allocation",
        "colour",
        "assigned_user_ids[0]",
        "variants[0].weight",
        "variants[1].weight",
        "goals[0].config.url",
    } <= set(fields_of(error))


@pytest.mark.parametrize(
    "query", [{"page": 0}, {"page": "x"}, {"per_page": 0}, {"per_page": -1}, {"page": ""}]
)
def test_query_that_makes_no_sense_is_invalid(customer: Customer, query: dict[str, object]) -> None:
    error = error_of(customer.get("/projects", **query), 422, "validation_error")
    assert fields_of(error) == list(query)


def test_every_answer_has_a_request_id_of_its_own(client: TestClient, customer: Customer) -> None:
    answers = [
        client.get("/healthz"),
        client.get("/openapi.json"),
        customer.get("/projects"),
        client.get("/x"),
    ]
    ids = [answer.headers["X-Request-Id"] for answer in answers]
    assert len(set(ids)) == len(ids)


@contextmanager
def a_catalog_without_projects(services: Services) -> Iterator[None]:
    """Takes a table away, as a damaged file would, and puts it back."""
    with services.catalog.database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE projects RENAME TO lost")
    try:
        yield
    finally:
        with services.catalog.database.write() as connection:
            connection.exec_driver_sql("ALTER TABLE lost RENAME TO projects")


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


def test_an_error_has_one_code() -> None:
    errors = [error for row in ERROR_CODES.values() for error in row.errors]
    assert len(errors) > 5
    # Neither an error nor its subclass stands in two rows, so the order of the table makes no difference.
    assert all(sum(issubclass(error, other) for other in errors) == 1 for error in errors)


@pytest.mark.parametrize("status", [404, 405])
def test_a_status_of_the_framework_has_one_code(status: int) -> None:
    assert [row.status for row in ERROR_CODES.values()].count(status) == 1
