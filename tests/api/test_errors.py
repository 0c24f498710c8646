import pytest
from fastapi.testclient import TestClient

from api.errors import ERROR_CODES
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of


def test_unknown_path_is_not_found(client: TestClient) -> None:
    for path in ("/nothing", "/api/v1", "/api/v2/projects", "/static"):
        error_of(client.get(path), 404, "not_found")


def test_wrong_method_is_told_the_right_ones(customer: Customer, project: str) -> None:
    answer = customer.call("PUT", project)
    error_of(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, PATCH, DELETE"


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


def test_an_error_has_one_code() -> None:
    errors = [error for row in ERROR_CODES.values() for error in row.errors]
    assert len(errors) > 5
    # Neither an error nor its subclass stands in two rows, so the order of the table makes no difference.
    assert all(sum(issubclass(error, other) for other in errors) == 1 for error in errors)


@pytest.mark.parametrize("status", [404, 405])
def test_a_status_of_the_framework_has_one_code(status: int) -> None:
    assert [row.status for row in ERROR_CODES.values()].count(status) == 1
