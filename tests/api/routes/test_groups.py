"""Exclusion groups of a project over the API, and experiments that take slots of them."""

from typing import Any

from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of


def in_group(group: str, percent: int) -> dict[str, Any]:
    return {"group": {"id": group.rpartition("/")[2], "percent": percent}}


def test_a_group_is_created_listed_renamed_and_deleted(customer: Customer, project: str) -> None:
    group = customer.a_group(project)
    data = customer.data_of(group)
    assert (data["name"], data["free_percent"], data["experiments"]) == ("Checkout pages", 100, [])
    assert data["free_slots"] == [{"first": 0, "beyond": 10000}]
    customer.a_group(project, "Cart")
    listed = customer.get(f"{project}/groups").json()["data"]
    assert [one["name"] for one in listed] == ["Checkout pages", "Cart"]
    assert (
        customer.call("PATCH", group, json={"name": "Late"}, headers={"If-Match": '"other"'}).status_code
        == 412
    )
    # What was read may be sent back.
    renamed = customer.patch(group, {**data, "name": "Home"}).json()["data"]
    assert renamed == {**data, "name": "Home", "updated_at": renamed["updated_at"]}
    refused = error_of(customer.post(f"{project}/groups", {"name": "Cart"}), 422, "validation_error")
    assert set(fields_of(refused)) == {"name"}
    assert customer.call("DELETE", group).status_code == 204
    error_of(customer.get(group), 404, "not_found")


def test_slots_are_taken_at_the_start_and_given_back_at_the_end(customer: Customer, project: str) -> None:
    group = customer.a_group(project)
    first, second = (customer.an_experiment(project, **in_group(group, 60)) for _ in range(2))
    assert customer.post(f"{first}/start").status_code == 200
    refused = error_of(customer.post(f"{second}/start"), 422, "start_requirements_not_met")
    (detail,) = refused["details"]
    assert detail["field"] == "group.percent"
    assert detail["message"].startswith("60% of 'Checkout pages' is asked for, and 40% is free")
    found = customer.data_of(group)
    (holder,) = found["experiments"]
    assert (holder["id"], holder["percent"], holder["is_rollout"]) == (first.rpartition("/")[2], 60, False)
    assert (found["free_percent"], found["free_slots"]) == (40, [{"first": 6000, "beyond": 10000}])
    error_of(customer.call("DELETE", group), 422, "group_in_use")
    customer.post(f"{first}/complete")
    assert customer.post(f"{second}/start").status_code == 200
    copied = customer.post(f"{second}/copy").json()["data"]
    assert copied["group"] == in_group(group, 60)["group"]


def test_a_group_is_set_in_a_draft_only(customer: Customer, project: str) -> None:
    group, other = customer.a_group(project), customer.a_group(customer.a_project())
    draft = customer.an_experiment(project)
    refused = error_of(customer.patch(draft, in_group(other, 10)), 422, "validation_error")
    assert set(fields_of(refused)) == {"group.id"}
    refused = error_of(customer.patch(draft, in_group(group, 0)), 422, "validation_error")
    assert set(fields_of(refused)) == {"group.percent"}
    assert customer.patch(draft, in_group(group, 10)).json()["data"]["group"]["percent"] == 10
    customer.patch(draft, {"scheduled_start_at": "2099-01-01T00:00:00Z"})
    assert customer.post(f"{draft}/start").json()["data"]["status"] == "scheduled"
    assert customer.data_of(group)["free_percent"] == 100
    assert set(fields_of(error_of(customer.patch(draft, {"group": None}), 422, "field_locked"))) == {"group"}
    customer.post(f"{draft}/start")
    error_of(customer.patch(draft, {"group": None}), 422, "experiment_running")
    customer.post(f"{draft}/pause")
    assert set(fields_of(error_of(customer.patch(draft, in_group(group, 9)), 422, "field_locked"))) == {
        "group"
    }
    assert customer.patch(draft, in_group(group, 10)).status_code == 200
    assert customer.data_of(group)["free_percent"] == 90
