"""Payloads of variants over the API: written, read back, refused by field, and audited."""

import json
from typing import Any

import httpx2
import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import PURCHASE, an_experiment_body, error_of, fields_of
from tests.api.shapes import VARIANT

BUY = {"label": "Buy 🎉", "prices": [9.5, 10], "is_new": True, "none": None}


def with_payloads(*payloads: object, **fields: Any) -> dict[str, Any]:
    variants = [{"name": f"V{index}", "payload": payload} for index, payload in enumerate(payloads)]
    return an_experiment_body(**{"public_variants": True, "variants": variants, **fields})


def payloads_of(data: dict[str, Any]) -> list[object]:
    return [variant["payload"] for variant in data["variants"]]


def test_payloads_come_back_as_they_were_sent_and_are_copied(customer: Customer, project: str) -> None:
    answer = customer.post(f"{project}/experiments", with_payloads({"label": "Go"}, BUY))
    created = answer.json()["data"]
    assert (answer.status_code, created["public_variants"]) == (201, True)
    assert payloads_of(created) == [{"label": "Go"}, BUY]
    assert [set(variant) for variant in created["variants"]] == [VARIANT] * 2
    copy = customer.post(f"{project}/experiments", {**created, "name": "Copy", "test_key": None})
    assert payloads_of(copy.json()["data"]) == [{"label": "Go"}, BUY]


def test_an_experiment_without_payloads_says_so(customer: Customer, project: str) -> None:
    data = customer.data_of(customer.an_experiment(project))
    assert (data["public_variants"], payloads_of(data)) == (False, [None, None])
    (listed,) = customer.get(f"{project}/experiments").json()["data"]
    assert listed["public_variants"] is False


def test_updates_follow_the_rules_of_changes(customer: Customer, project: str, services: Services) -> None:
    path = customer.an_experiment(project, **with_payloads("Buy", "Go"))
    control, treatment = customer.data_of(path)["variants"]
    drafted = customer.patch(path, {"variants": [control, {**treatment, "payload": None}]})
    assert payloads_of(drafted.json()["data"]) == ["Buy", None]
    customer.post(f"{path}/start")
    error_of(customer.patch(path, {"variants": [control, treatment]}), 422, "experiment_running")
    customer.post(f"{path}/pause")
    replaced = customer.patch(path, {"variants": [{**control, "payload": "Pay"}, treatment]})
    assert payloads_of(replaced.json()["data"]) == ["Pay", "Go"]
    removed = customer.patch(path, {"variants": [control, {"id": treatment["id"], "payload": None}]})
    assert fields_of(error_of(removed, 422, "field_locked")) == ["variants[1].payload"]
    hidden = customer.patch(path, {"public_variants": False})
    assert fields_of(error_of(hidden, 422, "validation_error")) == ["public_variants"]
    changes = services.catalog.audit.of(path.rpartition("/")[2])[-1].changes["variants"]
    assert [payloads_of({"variants": variants}) for variants in changes] == [["Buy", None], ["Pay", "Go"]]


def test_what_is_wrong_is_named_by_its_field(customer: Customer, project: str) -> None:
    for body, fields in (
        (with_payloads("a", "b", public_variants=False), ["public_variants"]),
        (with_payloads("x" * 4_095, "b"), ["variants[0].payload"]),
        (with_payloads("a", 1), ["variants[1].payload"]),
        (with_payloads(2**53, 1), ["variants[0].payload"]),
        (with_payloads("a", "b", public_variants="yes"), ["public_variants"]),
    ):
        answer = customer.post(f"{project}/experiments", body)
        assert fields_of(error_of(answer, 422, "validation_error")) == fields
    assert customer.post(f"{project}/experiments", with_payloads("x" * 4_094, "b")).status_code == 201


@pytest.mark.parametrize(
    "payload", ["NaN", "Infinity", "1e999", '{"a": 1, "a": 2}', '"\\ud800"', "{'a': 1}", "[" * 200]
)
def test_what_is_no_json_is_refused_as_a_whole(customer: Customer, project: str, payload: str) -> None:
    body = json.dumps(with_payloads("here", "there")).replace('"here"', payload)
    answer = customer.call(
        "POST", f"{project}/experiments", content=body, headers={"Content-Type": "application/json"}
    )
    error_of(answer, 400, "invalid_json")


def test_a_project_has_room_until_an_experiment_ends(customer: Customer, project: str) -> None:
    def created(name: str) -> httpx2.Response:
        largest = ["x" * 4_094] * 8
        return customer.post(f"{project}/experiments", with_payloads(*largest, name=name, goals=[PURCHASE]))

    first = f"{project}/experiments/{created('First').json()['data']['id']}"
    assert created("Second").status_code == 201
    error = error_of(created("Third"), 422, "validation_error")
    assert fields_of(error) == ["variants"]
    assert "65,536 bytes together" in error["details"][0]["message"]
    for step in ("start", "complete"):
        customer.post(f"{first}/{step}")
    assert created("Third").status_code == 201


def test_the_largest_payloads_reach_every_reader(customer: Customer, project: str) -> None:
    for name in ("First", "Second"):
        largest = [letter * 1_364 + "xx" for letter in "漢字仮名語文書本"]
        path = customer.an_experiment(project, **with_payloads(*largest, name=name))
        variants = customer.post(f"{path}/start").json()["data"]["variants"]
        assert {len(f'"{one["payload"]}"'.encode()) for one in variants} == {4_096}
    key = customer.data_of(f"{project}/installation")["api_key"]
    config = customer.client.get(f"/api/v1/sdk/config?key={key}")
    told = [one["payload"] for each in config.json()["experiments"] for one in each["variants"]]
    assert told == largest * 2
    assert all(f'"{payload}"' in customer.client.get(f"/sdk/v1/{key}.js").text for payload in told)
    (first, second) = customer.client.post(f"/api/v1/sdk/init?key={key}", json={"visitor_id": "v1"}).json()[
        "assignments"
    ]
    flags = customer.client.post(
        "/ofrep/v1/evaluate/flags", json={"context": {"targetingKey": "v1"}}, headers={"X-API-Key": key}
    )
    assert [one["value"] for one in flags.json()["flags"]] == [first["payload"], second["payload"]]
    customer.post(f"{path}/pause")
    shorter = [{"id": one["id"], "payload": one["payload"][1:]} for one in variants]
    assert payloads_of(customer.patch(path, {"variants": shorter}).json()["data"])[0] == largest[0][1:]
    tagged = {"If-None-Match": config.headers["etag"]}
    again = customer.client.get(f"/api/v1/sdk/config?key={key}", headers=tagged)
    assert again.status_code == 200
    assert again.json()["experiments"][1]["variants"][0]["payload"] == largest[0][1:]
    tagged = {"If-None-Match": again.headers["etag"]}
    assert customer.client.get(f"/api/v1/sdk/config?key={key}", headers=tagged).status_code == 304
    # The same again changes nothing, and is no change of the trail.
    before = len(customer.services.catalog.audit.of(path.rpartition("/")[2]))
    assert customer.patch(path, {"variants": shorter}).status_code == 200
    (entry,) = customer.services.catalog.audit.of(path.rpartition("/")[2])[before:]
    assert set(entry.changes) <= {"updated_at"}
