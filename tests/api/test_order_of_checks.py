"""Order of checks: the error that is answered where a request has several."""

from typing import Any

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of

JSON = {"Content-Type": "application/json"}
REUSED = {"Idempotency-Key": "taken"}


def test_each_check_comes_before_the_next(customer: Customer, services: Services) -> None:
    """Start with every error; fix the one that is answered, and expect the next."""
    mine, other = customer.a_project(), customer.a_project()
    assert customer.call("PATCH", mine, json={"name": "First"}, headers=REUSED).status_code == 200
    reader = customer.with_key("projects:read", project_ids=(other.rpartition("/")[2],))
    restricted = customer.with_key(project_ids=(other.rpartition("/")[2],))
    accounts, account = services.catalog.accounts, customer.account.id
    accounts.update(account, subscription_status="canceled", rate_limit=1)
    text: dict[str, Any] = {"content": b"{", "headers": {**REUSED, "Content-Type": "text/plain"}}
    broken: dict[str, Any] = {"content": b"{", "headers": {**REUSED, **JSON}}
    unsound: dict[str, Any] = {"content": b'{"name": ""}', "headers": {**REUSED, **JSON}}

    error_of(customer.client.request("PATCH", f"/api/v1{mine}", **text), 401, "invalid_api_key")
    error_of(reader.call("PATCH", mine, **text), 429, "rate_limited")
    accounts.update(account, rate_limit=1000)
    error_of(reader.call("PATCH", mine, **text), 402, "account_inactive")
    accounts.update(account, subscription_status="active")
    error_of(reader.call("PATCH", mine, **text), 403, "forbidden")
    error_of(restricted.call("PATCH", mine, **text), 404, "not_found")
    error_of(customer.call("PATCH", mine, **text), 415, "unsupported_media_type")
    error_of(customer.call("PATCH", mine, **broken), 400, "invalid_json")
    error_of(customer.call("PATCH", mine, **unsound), 409, "idempotency_key_reused")
    unsound["headers"] = JSON
    error_of(customer.call("PATCH", mine, **unsound), 422, "validation_error")
    assert customer.get(mine).json()["data"]["name"] == "First"


def test_a_revision_is_compared_after_the_idempotency_key_and_before_the_rules(
    customer: Customer, experiment: str
) -> None:
    assert customer.call("PATCH", experiment, json={"name": "First"}, headers=REUSED).status_code == 200
    old = {"If-Match": '"old"'}
    unsound = {"json": {"name": ""}}
    error_of(
        customer.call("PATCH", experiment, headers={**REUSED, **old}, **unsound),
        409,
        "idempotency_key_reused",
    )
    error_of(customer.call("PATCH", experiment, headers=old, **unsound), 412, "precondition_failed")
    error_of(customer.call("PATCH", f"{experiment}x", headers=old, **unsound), 404, "not_found")
    error_of(customer.call("PATCH", experiment, **unsound), 422, "validation_error")


def test_query_is_judged_after_the_key_and_the_path(customer: Customer, project: str) -> None:
    writer = customer.with_key("projects:write")
    error_of(customer.client.get("/api/v1/projects?page=0"), 401, "invalid_api_key")
    error_of(writer.get("/projects", page=0), 403, "forbidden")
    error_of(customer.get("/projects/prj_x/experiments", page=0), 404, "not_found")
    error_of(customer.get(f"{project}/experiments", page=0, status="x"), 422, "validation_error")
