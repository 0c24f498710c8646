"""Paths and methods that the API does not have: 401, 429 and 402 come before 404 and 405."""

import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.rates import limited, rate_limit_of
from tests.api.request_bodies import error_of
from tests.api.shops import Shop

# Path, method, and the code for a caller that is known.
UNKNOWN = [
    ("/nothing", "GET", "not_found"),
    ("/projects/", "GET", "not_found"),
    ("/projects/prj_x/nothing", "POST", "not_found"),
    ("/projects", "PUT", "method_not_allowed"),
    ("/projects", "HEAD", "method_not_allowed"),
    ("/projects", "PURGE", "method_not_allowed"),
    ("/sdk/nothing", "GET", "not_found"),
    ("/sdk/track", "GET", "method_not_allowed"),
]


@pytest.mark.parametrize(("path", "method", "code"), UNKNOWN)
def test_a_known_caller_is_counted_and_a_stranger_learns_nothing(
    customer: Customer, path: str, method: str, code: str
) -> None:
    stranger = customer.client.request(method, f"/api/v1{path}")
    assert stranger.status_code == 401
    assert stranger.headers["WWW-Authenticate"] == "Bearer"
    before = rate_limit_of(customer.get("/projects"))[1]
    answer = customer.call(method, path)
    assert answer.status_code == (404 if code == "not_found" else 405)
    assert rate_limit_of(answer)[1] == before - 1
    if method != "HEAD":
        assert answer.json()["error"]["code"] == code


def test_the_right_methods_are_told(customer: Customer) -> None:
    assert customer.call("PUT", "/projects").headers["Allow"] == "GET, POST"
    assert customer.call("GET", "/sdk/track").headers["Allow"] == "POST"


@pytest.mark.parametrize(("path", "status"), [("nothing", 404), ("track", 405)])
def test_a_browser_is_counted_to_its_project(shop: Shop, services: Services, path: str, status: int) -> None:
    quota = services.settings.sdk_rate_limit_per_minute
    headers = {"X-SDK-Key": shop.sdk_key}
    answer = shop.customer.client.get(f"/api/v1/sdk/{path}", headers=headers)
    assert answer.status_code == status
    assert rate_limit_of(answer)[:2] == (quota, quota - 1)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    # Elsewhere the public key is none.
    assert shop.customer.client.get("/api/v1/nothing", headers=headers).status_code == 401


def test_limits_and_subscriptions_come_before_the_path(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, subscription_status="unpaid")
    for path, method, _ in UNKNOWN:
        assert customer.call(method, path).status_code == 402
    limited(customer, 1)
    for path, method, _ in UNKNOWN:
        answer = customer.call(method, path)
        assert answer.status_code == 429
        assert rate_limit_of(answer)[1] == 0
    error_of(customer.get("/nothing"), 429, "rate_limited")
