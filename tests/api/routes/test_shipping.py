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


def seen_by(shop: Shop, visitor_id: str, **visit: Any) -> tuple[Any, Any]:
    """The variant of a visitor by `init` in the test, and in the rollout; None without."""
    body = {"visitor_id": visitor_id, "url": shop.experiment["url"], **visit}
    answer = shop.post("/api/v1/sdk/init", body).json()
    return tuple(
        next((one["variant_id"] for one in answer[name]), None) for name in ("assignments", "rollouts")
    )  # type: ignore[return-value] # of two


def test_everybody_eligible_gets_what_was_shipped_until_the_rollout_ends(
    shop: Shop, customer: Customer
) -> None:
    path = path_of(shop)
    control, shipped = (one["id"] for one in shop.experiment["variants"])
    first = {f"visitor-{number}": seen_by(shop, f"visitor-{number}")[0] for number in range(8)}
    assert set(first.values()) == {control, shipped}
    rollout = customer.ship(path).json()["data"]["rollout"]
    assert (rollout["variant_id"], rollout["ended_at"]) == (shipped, None)
    assert {seen_by(shop, visitor) for visitor in first} == {(None, shipped)}
    assert seen_by(shop, "visitor-1", url="https://shop.example/elsewhere") == (None, None)
    counted = shop.post("/api/v1/sdk/track", {"batch": [shop.exposure(variant_id=shipped)]}).json()
    assert counted["results"][0]["code"] == "not_counted"
    flag = shop.post(
        f"/ofrep/v1/evaluate/flags/{shop.experiment['test_key']}",
        {"context": {"targetingKey": "visitor-1"}},
        X_API_Key=shop.sdk_key,
    ).json()
    assert (flag["value"], flag["reason"], flag["variant"]) == (True, "TARGETING_MATCH", "Treatment")
    config = shop.customer.client.get("/api/v1/sdk/config", headers={"X-SDK-Key": shop.sdk_key}).json()
    (described,) = config["rollouts"]
    assert (config["experiments"], described["id"]) == ([], rollout["id"])
    assert (described["experiment_id"], described["thresholds"]) == (shop.experiment["id"], [0, 2**32])
    script = shop.customer.client.get(f"/sdk/v1/{shop.sdk_key}.js").text
    assert "CONFIG.rollouts" in script
    assert customer.post(f"{path}/archive").status_code == 200
    assert seen_by(shop, "visitor-1") == (None, shipped)
    ended = customer.post(f"{path}/rollout/end").json()["data"]
    assert (ended["status"], ended["rollout"]["ended_at"]) == ("archived", ended["updated_at"])
    assert seen_by(shop, "visitor-1") == (None, None)
    error_of(customer.post(f"{path}/rollout/end"), 422, "no_rollout")


def test_a_rollout_and_a_test_do_not_change_the_same_in_either_order(shop: Shop, customer: Customer) -> None:
    project = f"/projects/{shop.project_id}"
    other = customer.an_experiment(project, name="Other")
    assert customer.post(f"{other}/start").status_code == 200
    error = error_of(customer.ship(path_of(shop)), 422, "rollout_conflict")
    assert (fields_of(error), "'Other'" in error["details"][0]["message"]) == (["variants"], True)
    assert customer.ship(path_of(shop), rollout=False).json()["data"]["rollout"] is None
    assert customer.ship(other).status_code == 200
    third = customer.an_experiment(project, name="Third")
    error = error_of(customer.post(f"{third}/start"), 422, "rollout_conflict")
    assert "the rollout of 'Other'" in error["details"][0]["message"]
    assert customer.post(f"{other}/rollout/end").status_code == 200
    assert customer.post(f"{third}/start").status_code == 200
