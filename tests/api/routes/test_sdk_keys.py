from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of
from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"


@pytest.fixture
def shop(customer: Customer, project: str, experiment: str) -> Shop:
    return Shop.opened_by(customer, project, experiment)


def send(shop: Shop, sdk_key: str) -> httpx2.Response:
    headers = {"X-SDK-Key": sdk_key, "Content-Type": "application/json"}
    exposure = shop.exposure(f"x-{sdk_key}", visitor_id=f"v-{sdk_key}")
    return shop.customer.client.post(TRACK, json={"batch": [exposure]}, headers=headers)


def test_replaced_key_still_works_and_every_answer_shows_the_new_one(shop: Shop) -> None:
    path = f"/projects/{shop.project_id}"
    # The cache knows the old key.
    assert send(shop, shop.sdk_key).status_code == 200
    before = datetime.now(UTC)
    answer = shop.customer.post(f"{path}/rotate_sdk_key")
    keys = answer.json()["data"]
    assert answer.status_code == 200
    assert keys["api_key"].startswith("pk_")
    assert keys["api_key"] != shop.sdk_key
    (previous,) = keys["previous"]
    assert previous["api_key"] == shop.sdk_key
    week = datetime.fromisoformat(previous["valid_until"]) - before
    assert timedelta(days=7) <= week < timedelta(days=7, hours=1)
    assert shop.customer.get(f"{path}/sdk_keys").json()["data"] == keys
    installation = shop.customer.get(f"{path}/installation").json()["data"]
    assert installation["api_key"] == keys["api_key"]
    assert keys["api_key"] in installation["snippet_html"]
    assert shop.sdk_key not in str(installation)
    for key in (shop.sdk_key, keys["api_key"]):
        assert send(shop, key).json()["accepted"] == 1


def test_leaked_key_stops_at_once(shop: Shop) -> None:
    assert send(shop, shop.sdk_key).status_code == 200
    answer = shop.customer.post(f"/projects/{shop.project_id}/rotate_sdk_key", {"grace_period_hours": 0})
    assert answer.json()["data"]["previous"] == []
    error_of(send(shop, shop.sdk_key), 401, "invalid_api_key")
    assert send(shop, answer.json()["data"]["api_key"]).status_code == 200


def test_replaced_keys_can_be_ended_before_their_time(shop: Shop) -> None:
    path = f"/projects/{shop.project_id}"
    second = shop.customer.post(f"{path}/rotate_sdk_key").json()["data"]["api_key"]
    third = shop.customer.post(f"{path}/rotate_sdk_key", {"grace_period_hours": 1}).json()["data"]
    assert [key["api_key"] for key in third["previous"]] == [second, shop.sdk_key]
    assert [send(shop, key).status_code for key in (shop.sdk_key, second)] == [200, 200]
    expired = shop.customer.post(f"{path}/expire_sdk_keys")
    assert expired.json()["data"] == {"api_key": third["api_key"], "previous": []}
    assert [send(shop, key).status_code for key in (shop.sdk_key, second)] == [401, 401]
    assert send(shop, third["api_key"]).status_code == 200


def test_rotations_are_audited(customer: Customer, services: Services, project: str) -> None:
    key = services.catalog.keys.of_account(customer.account.id)[0]
    old = services.catalog.projects.find(project.rpartition("/")[2]).sdk_key
    new = customer.post(f"{project}/rotate_sdk_key").json()["data"]["api_key"]
    customer.post(f"{project}/expire_sdk_keys")
    _, rotated, expired = services.catalog.audit.of(project.rpartition("/")[2])
    assert (rotated.actor, rotated.changes["sdk_key"]) == (key.id, [old, new])
    (was,), none = expired.changes["previous_sdk_keys"]
    assert (was["sdk_key"], none) == (old, [])


def test_rotation_repeated_with_its_key_rotates_once(customer: Customer, project: str) -> None:
    first, again = (
        customer.call("POST", f"{project}/rotate_sdk_key", headers={"Idempotency-Key": "rotation-1"})
        for _ in range(2)
    )
    assert (first.json(), again.headers["Idempotent-Replayed"]) == (again.json(), "true")
    assert len(customer.get(f"{project}/sdk_keys").json()["data"]["previous"]) == 1


def test_rotations_at_once_lose_no_key(customer: Customer, project: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: customer.post(f"{project}/rotate_sdk_key"), range(4)))
    made = {answer.json()["data"]["api_key"] for answer in answers}
    keys = customer.get(f"{project}/sdk_keys").json()["data"]
    listed = {keys["api_key"], *(key["api_key"] for key in keys["previous"])}
    assert made <= listed
    assert len(listed) == 5


def test_wrong_grace_period_is_refused(customer: Customer, project: str) -> None:
    before = customer.get(f"{project}/sdk_keys").json()
    answer = customer.post(f"{project}/rotate_sdk_key", {"grace_period_hours": 10**6})
    assert list(fields_of(error_of(answer, 422, "validation_error"))) == ["grace_period_hours"]
    assert customer.get(f"{project}/sdk_keys").json() == before


def test_keys_of_a_deleted_project_open_nothing(shop: Shop) -> None:
    new = shop.customer.post(f"/projects/{shop.project_id}/rotate_sdk_key").json()["data"]["api_key"]
    shop.customer.call("DELETE", f"/projects/{shop.project_id}")
    assert [send(shop, key).status_code for key in (shop.sdk_key, new)] == [401, 401]
