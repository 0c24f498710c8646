"""Caching of answers: private ones are kept by no cache, whatever their status."""

from tests.api.customers import Customer
from tests.api.shops import Shop


def test_private_answers_are_not_stored(customer: Customer, project: str, shop: Shop) -> None:
    answers = [
        customer.get(project),
        customer.get("/projects/prj_x"),
        customer.patch(project, {"name": ""}),
        customer.client.get("/api/v1/projects"),
        customer.client.get("/api/v1/nothing"),
        customer.get("/nothing"),
        shop.post("/api/v1/sdk/init", {}),
        shop.post("/api/v1/sdk/track", {"batch": [shop.exposure()]}),
        customer.client.post("/mcp/v2/mcp", json={}),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 422, 401, 401, 404, 200, 200, 401]
    assert [answer.headers["Cache-Control"] for answer in answers] == ["no-store"] * len(answers)


def test_a_replayed_write_may_be_read_by_a_key_with_fewer_scopes(customer: Customer) -> None:
    # Only what holds a secret is kept from it, which is another matter than caching.
    narrow = customer.with_key("projects:write")
    sent = {"json": {"name": "Shop", "url": "https://shop.example"}, "headers": {"Idempotency-Key": "once"}}
    first = customer.call("POST", "/projects", **sent)
    again = narrow.call("POST", "/projects", **sent)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["Cache-Control"] == "no-store"


def test_public_answers_may_be_stored(customer: Customer) -> None:
    for path in ("/healthz", "/openapi.json"):
        assert "Cache-Control" not in customer.client.get(path).headers
