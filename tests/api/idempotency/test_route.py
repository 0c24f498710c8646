import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from api.services import Services
from pipeline.store.catalog.idempotency import KEPT_FOR
from pipeline.store.catalog.schema import replies
from tests.api.customers import Customer
from tests.api.repeats import REPLAYED, SHOP, count, is_repeated, send
from tests.api.request_bodies import error_of, fields_of


def test_write_without_a_key_is_carried_out_each_time(customer: Customer) -> None:
    answers = [customer.post("/projects", SHOP) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert count(customer) == 2


def test_repeated_creation_gets_the_first_answer_and_creates_nothing(customer: Customer) -> None:
    first = send(customer, "POST", "/projects", json=SHOP)
    assert first.status_code == 201
    assert is_repeated(first, send(customer, "POST", "/projects", json=SHOP))
    assert count(customer) == 1


def test_key_makes_no_difference_to_the_answer(customer: Customer, experiment: str) -> None:
    plain = customer.patch(experiment, {"name": "Renamed"}).json()["data"]
    keyed = send(customer, "PATCH", experiment, json={"name": "Renamed"})
    assert {**keyed.json()["data"], "updated_at": plain["updated_at"]} == plain
    assert keyed.headers["content-type"] == customer.get(experiment).headers["content-type"]


def test_order_of_members_and_parameters_makes_no_difference(customer: Customer) -> None:
    headers = {"Content-Type": "application/json"}
    first = send(customer, "POST", "/projects?a=1&b=2", json=SHOP)
    body = b' {"url":"https://shop.example" ,\n "name": "Sh\\u006fp"}'
    assert is_repeated(first, send(customer, "POST", "/projects?b=2&a=1", content=body, headers=headers))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/projects", {**SHOP, "name": "Other"}),
        ("POST", "/projects", {**SHOP, "settings": {}}),
        ("POST", "/projects?a=1", SHOP),
        ("PATCH", "{project}", SHOP),
        ("POST", "{project}/experiments", SHOP),
        ("DELETE", "{project}", None),
    ],
)
def test_key_of_another_request_is_refused(
    customer: Customer, project: str, method: str, path: str, body: object
) -> None:
    before = customer.get(project).json()
    send(customer, "POST", "/projects", json=SHOP)
    answer = send(customer, method, path.format(project=project), json=body)
    error_of(answer, 409, "idempotency_key_reused")
    assert customer.get(project).json() == before
    assert count(customer) == 2


def test_body_of_an_operation_that_takes_none_counts_too(customer: Customer, experiment: str) -> None:
    assert send(customer, "POST", f"{experiment}/start").status_code == 200
    answer = send(customer, "POST", f"{experiment}/start", content=b"x" * 10)
    error_of(answer, 409, "idempotency_key_reused")
    too_large = send(customer, "POST", f"{experiment}/start", content=b"x" * (2**20 + 1))
    error_of(too_large, 413, "payload_too_large")


@pytest.mark.parametrize("transition", ["start", "pause", "resume", "complete", "archive"])
def test_repeated_transition_is_made_once(customer: Customer, experiment: str, transition: str) -> None:
    steps = ("start", "pause", "resume", "complete", "archive")
    for step in steps[: steps.index(transition)]:
        customer.post(f"{experiment}/{step}")
    first = send(customer, "POST", f"{experiment}/{transition}")
    assert first.status_code == 200
    assert is_repeated(first, send(customer, "POST", f"{experiment}/{transition}"))


def test_repeated_deletion_gets_204_although_the_thing_is_gone(
    customer: Customer, project: str, experiment: str
) -> None:
    for path in (experiment, project):
        first = send(customer, "DELETE", path, path)
        assert (first.status_code, first.content) == (204, b"")
        assert is_repeated(first, send(customer, "DELETE", path, path))
        error_of(send(customer, "DELETE", path, "another key"), 404, "not_found")
        error_of(customer.call("DELETE", path), 404, "not_found")


def test_what_is_gone_is_hidden_from_who_never_reached_it(
    customer: Customer, stranger: Customer, project: str
) -> None:
    restricted = customer.with_key(project_ids=(customer.a_project().rpartition("/")[2],))
    assert send(customer, "DELETE", project).status_code == 204
    error_of(send(restricted, "DELETE", project), 404, "not_found")
    error_of(send(stranger, "DELETE", project), 404, "not_found")
    error_of(send(customer.with_key("projects:read"), "DELETE", project), 403, "forbidden")


def test_refusal_of_what_was_asked_is_kept_too(
    customer: Customer, services: Services, experiment: str
) -> None:
    first = send(customer, "POST", f"{experiment}/pause")
    error_of(first, 422, "invalid_transition")
    customer.post(f"{experiment}/start")
    again = send(customer, "POST", f"{experiment}/pause")
    assert is_repeated(first, again)
    error_of(again, 422, "invalid_transition")
    assert customer.get(experiment).json()["data"]["status"] == "running"


def test_invalid_body_is_refused_alike_each_time(customer: Customer) -> None:
    first = send(customer, "POST", "/projects", json={"name": ""})
    assert set(fields_of(error_of(first, 422, "validation_error"))) == {"name", "url"}
    assert is_repeated(first, send(customer, "POST", "/projects", json={"name": ""}))


def test_plan_limit_is_kept_although_there_is_room_now(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, max_projects=0)
    first = send(customer, "POST", "/projects", json=SHOP)
    error_of(first, 422, "plan_limit_reached")
    services.catalog.accounts.update(customer.account.id, max_projects=5)
    assert is_repeated(first, send(customer, "POST", "/projects", json=SHOP))
    assert send(customer, "POST", "/projects", "another key", json=SHOP).status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_key_of_another_length_is_invalid(customer: Customer, key: str) -> None:
    error = error_of(send(customer, "POST", "/projects", key, json=SHOP), 422, "validation_error")
    assert fields_of(error) == ["Idempotency-Key"]
    assert count(customer) == 0


def test_two_keys_are_none(customer: Customer) -> None:
    headers = [("Authorization", f"Bearer {customer.token}"), *[("Idempotency-Key", key) for key in "ab"]]
    answer = customer.client.post("/api/v1/projects", json=SHOP, headers=headers)
    assert fields_of(error_of(answer, 422, "validation_error")) == ["Idempotency-Key"]


@pytest.mark.parametrize("key", ["x", "x" * 255, "§ ß / ? \xff"])
def test_key_may_be_any_text_of_up_to_255_characters(customer: Customer, key: str) -> None:
    headers = {
        b"Authorization": f"Bearer {customer.token}".encode(),
        b"Idempotency-Key": key.encode("latin-1"),
    }
    answers = [customer.client.post("/api/v1/projects", json=SHOP, headers=headers) for _ in range(2)]
    assert is_repeated(*answers)


def test_accounts_have_keys_of_their_own(customer: Customer, stranger: Customer) -> None:
    send(customer, "POST", "/projects", json=SHOP)
    other = send(stranger, "POST", "/projects", json=SHOP)
    assert (other.status_code, REPLAYED in other.headers) == (201, False)


def test_keys_of_one_account_share_its_idempotency_keys(customer: Customer) -> None:
    first = send(customer, "POST", "/projects", json=SHOP)
    assert is_repeated(first, send(customer.with_key("projects:write"), "POST", "/projects", json=SHOP))


def test_reading_takes_no_notice_of_a_key(customer: Customer) -> None:
    for _ in range(2):
        answer = send(customer, "GET", "/projects")
        assert REPLAYED not in answer.headers
        customer.a_project()
    assert send(customer, "GET", "/projects").json()["meta"]["total"] == 2


def test_earlier_checks_come_first_and_are_not_kept(customer: Customer, services: Services) -> None:
    assert send(customer, "POST", "/projects", json=SHOP).status_code == 201
    other = {**SHOP, "name": "Other"}
    unauthorized: dict[str, Any] = {"headers": {"Authorization": "Bearer nonsense"}, "json": other}
    error_of(send(customer, "POST", "/projects", **unauthorized), 401, "invalid_api_key")
    error_of(send(customer.with_key("projects:read"), "POST", "/projects", json=other), 403, "forbidden")
    error_of(send(customer, "PATCH", "/projects/prj_x", json=other), 404, "not_found")
    error_of(send(customer, "POST", "/projects", content=b"{"), 400, "invalid_json")
    text: dict[str, Any] = {"content": b"{}", "headers": {"Content-Type": "text/plain"}}
    error_of(send(customer, "POST", "/projects", **text), 415, "unsupported_media_type")
    error_of(send(customer, "POST", "/projects", json={"name": ""}), 409, "idempotency_key_reused")
    services.catalog.accounts.update(customer.account.id, subscription_status="paused")
    error_of(send(customer, "POST", "/projects", json=SHOP), 402, "account_inactive")


def test_refused_key_frees_the_idempotency_key(customer: Customer, services: Services) -> None:
    key = services.catalog.keys.of_account(customer.account.id)[0]
    fresh = customer.with_key()
    services.catalog.keys.revoke(customer.account.id, key.id, now=datetime.now(UTC))
    error_of(send(customer, "POST", "/projects", json=SHOP), 401, "invalid_api_key")
    answer = send(fresh, "POST", "/projects", json=SHOP)
    assert (answer.status_code, REPLAYED in answer.headers) == (201, False)


def test_repeated_request_counts_against_the_rate_limit(customer: Customer, services: Services) -> None:
    send(customer, "POST", "/projects", json=SHOP)
    services.catalog.accounts.update(customer.account.id, rate_limit=1)
    error_of(send(customer, "POST", "/projects", json=SHOP), 429, "rate_limited")
    services.catalog.accounts.update(customer.account.id, rate_limit=100)
    assert send(customer, "POST", "/projects", json=SHOP).headers[REPLAYED] == "true"


def age(services: Services, customer: Customer, *, by: timedelta) -> None:
    """Make the account's replies that much older."""
    own = replies.c.account_id == customer.account.id
    with services.catalog.database.write() as connection:
        expires_at = connection.scalar(select(replies.c.expires_at).where(own))
        assert expires_at is not None
        connection.execute(replies.update().where(own).values(expires_at=expires_at - by))


def test_answer_is_replayed_for_a_day(customer: Customer, services: Services) -> None:
    first = send(customer, "POST", "/projects", json=SHOP)
    age(services, customer, by=KEPT_FOR * 0.99)
    assert is_repeated(first, send(customer, "POST", "/projects", json=SHOP))
    age(services, customer, by=KEPT_FOR * 0.02)
    answer = send(customer, "POST", "/projects", json={**SHOP, "name": "Next day's"})
    assert (answer.status_code, REPLAYED in answer.headers) == (201, False)


def test_every_write_but_events_takes_a_key(client: TestClient) -> None:
    document = json.loads(client.get("/openapi.json").text)
    idempotent = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            names = [parameter["name"] for parameter in operation.get("parameters", ())]
            is_idempotent = method in {"post", "patch", "delete"} and not path.startswith("/api/v1/sdk/")
            assert names.count("Idempotency-Key") == is_idempotent, (method, path)
            assert ("409" in operation["responses"]) == is_idempotent, (method, path)
            idempotent += is_idempotent
    assert idempotent > 10
