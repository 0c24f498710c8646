"""Erasure over HTTP: the receipt, ids of any form, and the results afterwards."""

from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from fastapi.testclient import TestClient

from pipeline.store.warehouse.erasure.segment_texts import ERASED
from tests.api.customers import Customer, a_customer_of
from tests.api.request_bodies import error_of
from tests.api.shops import Shop


@pytest.fixture
def customer(own_client: TestClient) -> Customer:
    return a_customer_of(own_client)


def send(shop: Shop, *names: str) -> None:
    events = [shop.exposure(f"e-{name}", visitor_id=name, user_id=f"u-{name}") for name in names]
    assert shop.post("/api/v1/sdk/track", {"batch": events}).status_code == 200


def erase(shop: Shop, name: str, **query: Any) -> httpx2.Response:
    path = f"/projects/{shop.project_id}/visitors/{quote(name, safe='')}"
    return shop.customer.call("DELETE", path, params=query)


def test_a_visitor_is_erased_with_a_receipt(shop: Shop) -> None:
    send(shop, "v1", "v2")
    answer = erase(shop, "v1")
    assert answer.status_code == 200
    receipt = answer.json()["data"]
    assert receipt["project_id"] == shop.project_id
    assert (receipt["visitor_ids"], receipt["user_ids"], receipt["events"]) == (1, 1, 1)
    assert (receipt["recounted"], receipt["sums_kept"]) == ([shop.experiment["id"]], [])
    assert "v1" not in answer.text
    assert shop.stored() == ["e-v2"]
    results = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results"
    assert (
        sum(one["visitors"] for one in next(iter(shop.customer.data_of(results)["variants"].values()))) == 1
    )
    again = erase(shop, "v1").json()["data"]
    assert (again["events"], again["id"] == receipt["id"]) == (0, False)


def test_ids_of_users_and_with_any_character_are_taken(shop: Shop) -> None:
    send(shop, "a/b ?#%2F é", "..", "v3")
    assert erase(shop, "a/b ?#%2F é").json()["data"]["events"] == 1
    assert erase(shop, "u-..", id_type="user").json()["data"]["events"] == 1
    assert shop.stored() == ["e-v3"]


def test_a_visitor_of_that_name_is_not_the_user(shop: Shop) -> None:
    send(shop, "v1")
    assert erase(shop, "v1", id_type="user").json()["data"]["events"] == 0
    assert shop.stored() == ["e-v1"]


def test_other_kinds_of_ids_and_rows_of_files_are_refused(shop: Shop) -> None:
    error_of(erase(shop, "v1", id_type="email"), 422, "validation_error")
    refused = error_of(erase(shop, "row-00112233aabbccdd-1"), 422, "validation_error")
    assert refused["details"][0]["field"] == "visitor_id"


def test_an_erasure_is_told_in_the_audit_trail(shop: Shop) -> None:
    send(shop, "v1")
    receipt = erase(shop, "v1").json()["data"]
    (entry,) = shop.customer.get("/account/audit", subject_id=receipt["id"]).json()["data"]
    assert (entry["subject_type"], entry["changes"]["events"]) == ("erasure", [None, 1])


def test_a_payload_is_a_text_of_the_team_which_an_erasure_leaves(shop: Shop) -> None:
    send(shop, "visitor-one")
    body = {
        "name": "Greeting",
        "public_variants": True,
        "variants": [{"name": "A", "payload": "visitor-one"}, {"name": "B", "payload": "everybody"}],
    }
    path, headers = f"/projects/{shop.project_id}/experiments", {"Idempotency-Key": "greeting"}
    created = shop.customer.call("POST", path, json=body, headers=headers).json()["data"]
    assert erase(shop, "visitor-one").json()["data"]["is_complete"] is True
    stored = shop.customer.data_of(f"{path}/{created['id']}")
    assert [one["payload"] for one in stored["variants"]] == ["visitor-one", "everybody"]
    # A stored reply quotes what was sent, whoever it is about.
    replayed = shop.customer.call("POST", path, json=body, headers=headers).json()["data"]
    assert [one["payload"] for one in replayed["variants"]] == [ERASED, "everybody"]
