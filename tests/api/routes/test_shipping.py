"""Decisions over the API: once, audited, told to webhooks, and safe to repeat."""

from typing import Any

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of
from tests.api.shapes import EXPERIMENT_DETAIL
from tests.api.shops import Shop

NOTE = "Fewer steps, more orders."


def shipping(shop: Shop, **fields: Any) -> dict[str, Any]:
    return {"decision": "ship", "variant_id": shop.experiment["variants"][1]["id"], "note": NOTE, **fields}


def path_of(shop: Shop) -> str:
    return f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}"


def test_a_variant_is_shipped_once_and_kept_with_who_what_and_why(
    shop: Shop, services: Services, customer: Customer
) -> None:
    path, member = path_of(shop), services.catalog.members.accepted(customer.account.id)[0]
    webhook = customer.a_webhook(f"/projects/{shop.project_id}")
    read = customer.get(path).headers["ETag"]
    stale = customer.call("POST", f"{path}/ship", json=shipping(shop), headers={"If-Match": '"other"'})
    error_of(stale, 412, "precondition_failed")
    headers = {"If-Match": read, "Idempotency-Key": shop.experiment["id"]}
    first = customer.call("POST", f"{path}/ship", json=shipping(shop), headers=headers)
    said = first.json()["data"]
    assert first.status_code == 200, first.text
    assert {*said} == EXPERIMENT_DETAIL | {"open_visitors"}
    conclusion = said["conclusion"]
    assert (said["status"], conclusion["decided_at"]) == ("completed", said["updated_at"])
    assert {name: conclusion[name] for name in conclusion if name != "decided_at"} == {
        "decision": "ship",
        "variant_id": shop.experiment["variants"][1]["id"],
        "note": NOTE,
        "accepted_risks": [],
        "decided_by": member.id,
        "decided_by_name": member.name,
    }
    assert customer.get(path).headers["ETag"] == first.headers["ETag"] != read
    replayed = customer.call("POST", f"{path}/ship", json=shipping(shop), headers=headers)
    assert (replayed.content, replayed.headers["Idempotent-Replayed"]) == (first.content, "true")
    error_of(customer.post(f"{path}/ship", shipping(shop)), 422, "already_decided")
    listed = customer.get(f"/projects/{shop.project_id}/experiments").json()["data"]
    assert [one["conclusion"] for one in listed] == [conclusion]
    entry = services.catalog.audit.of(shop.experiment["id"])[-1]
    assert entry.changes["status"] == ["running", "completed"]
    assert entry.changes["conclusion"][1]["note"] == NOTE
    told = customer.get(f"{webhook}/deliveries").json()["data"]
    assert {one["type"] for one in told} == {"experiment.completed", "experiment.concluded"}


def test_what_cannot_be_decided_is_refused_and_changes_nothing(shop: Shop, customer: Customer) -> None:
    path = path_of(shop)
    control = shipping(shop, variant_id=shop.experiment["variants"][0]["id"])
    before = customer.get(path).content
    for body, fields in (
        ({"decision": "ship", "note": NOTE}, ["variant_id"]),
        (control, ["variant_id"]),
        (shipping(shop, variant_id="var_of_nobody"), ["variant_id"]),
        (shipping(shop, note=""), ["note"]),
    ):
        assert fields_of(error_of(customer.post(f"{path}/ship", body), 422, "validation_error")) == fields
    assert customer.get(path).content == before
    draft = customer.an_experiment(f"/projects/{shop.project_id}", name="Draft")
    undecided = {"decision": "inconclusive", "note": NOTE}
    error_of(customer.post(f"{draft}/ship", undecided), 422, "invalid_transition")
    assert customer.post(f"{path}/complete").status_code == 200
    assert customer.post(f"{path}/ship", undecided).json()["data"]["conclusion"]["decision"] == "inconclusive"


def test_an_alarm_is_accepted_by_name_or_nothing_is_shipped(shop: Shop, customer: Customer) -> None:
    control = shop.experiment["variants"][0]["id"]
    batch = [
        shop.exposure(f"e{number}", visitor_id=f"visitor-{number}", variant_id=control)
        for number in range(99)
    ]
    assert shop.post("/api/v1/sdk/track", {"batch": batch}).json()["accepted"] == 99
    path = path_of(shop)
    error = error_of(customer.post(f"{path}/ship", shipping(shop)), 422, "open_risks")
    assert fields_of(error) == ["sample_ratio"]
    shipped = customer.post(f"{path}/ship", shipping(shop, accept_risks=["sample_ratio"])).json()["data"]
    accepted = shipped["conclusion"]["accepted_risks"]
    assert [(one["risk"], one["message"]) for one in accepted] == [
        ("sample_ratio", error["details"][0]["message"])
    ]
