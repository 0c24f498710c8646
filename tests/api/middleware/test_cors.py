"""CORS: SDK endpoints are open to every origin, the others to none."""

from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"


def test_a_preflight_is_answered_for_any_origin(shop: Shop) -> None:
    headers = {"Origin": "https://anywhere.example", "Access-Control-Request-Method": "POST"}
    answer = shop.customer.client.options(TRACK, headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "x-sdk-key" in answer.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in answer.headers
    assert answer.headers["x-request-id"]


def test_a_page_may_read_errors_too(shop: Shop) -> None:
    answer = shop.customer.client.post(TRACK, json={}, headers={"Origin": "https://anywhere.example"})
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == "*"


def test_other_endpoints_are_closed_to_pages(shop: Shop) -> None:
    answer = shop.customer.call("GET", "/projects", headers={"Origin": "https://anywhere.example"})
    assert "access-control-allow-origin" not in answer.headers
