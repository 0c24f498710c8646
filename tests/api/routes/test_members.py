"""Members over REST: added, changed and removed within the role of the key's holder."""

from typing import Any

import pytest

from api.services import Services
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

ADA = {"email_address": " Ada@Acme.example", "name": "Ada", "role": "admin"}


def added(customer: Customer, **fields: Any) -> dict[str, Any]:
    answer = customer.post("/account/members", {**ADA, **fields})
    assert answer.status_code == 201, answer.text
    member: dict[str, Any] = answer.json()["data"]
    return member


def with_key_of(customer: Customer, member_id: str) -> Customer:
    """The account as a new key of a member sees it; the key is made by the caller's."""
    body = {"name": "Own", "scopes": list(SCOPES), "member_id": member_id}
    answer = customer.post("/account/api_keys", body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["data"]["api_key"]["member_id"] == member_id
    return Customer(customer.client, customer.services, customer.account, answer.json()["data"]["token"])


def roles_of(customer: Customer) -> list[str]:
    return [member["role"] for member in customer.get("/account/members").json()["data"]]


def test_an_added_member_is_listed_and_audited(customer: Customer) -> None:
    member = added(customer)
    assert {**member, "id": "…"} == {
        "id": "…",
        "email_address": "ada@acme.example",
        "name": "Ada",
        "role": "admin",
    }
    assert member in customer.get("/account/members").json()["data"]
    (entry,) = customer.get("/account/audit", subject_id=member["id"]).json()["data"]
    assert (entry["action"], entry["actor_name"]) == ("created", "First key")


def test_a_member_without_a_role_is_a_plain_one(customer: Customer) -> None:
    answer = customer.post("/account/members", {"email_address": "bo@acme.example", "name": "Bo"})
    assert answer.json()["data"]["role"] == "member"


def test_everything_wrong_with_a_member_is_named_at_once(customer: Customer) -> None:
    body = {"email_address": "nobody", "name": " ", "role": "king", "colour": "red"}
    error = error_of(customer.post("/account/members", body), 422, "validation_error")
    assert set(fields_of(error)) == set(body)
    assert roles_of(customer) == ["owner"]


def test_an_address_is_a_member_once(customer: Customer) -> None:
    added(customer)
    error = error_of(customer.post("/account/members", ADA), 422, "validation_error")
    assert fields_of(error) == ["email_address"]


def test_a_member_gets_another_name_and_role(customer: Customer) -> None:
    path = f"/account/members/{added(customer)['id']}"
    renamed = customer.call("PATCH", path, json={"name": "Ada L.", "role": None})
    assert renamed.json()["data"]["name"] == "Ada L."
    changed = customer.call("PATCH", path, json={"role": "member"})
    assert (changed.json()["data"]["name"], changed.json()["data"]["role"]) == ("Ada L.", "member")
    subject_id = changed.json()["data"]["id"]
    entries = customer.get("/account/audit", subject_id=subject_id).json()["data"]
    assert [entry["changes"] for entry in entries if entry["action"] == "changed"] == [
        {"role": ["admin", "member"]},
        {"name": ["Ada", "Ada L."]},
    ]


def test_an_address_is_not_changed(customer: Customer) -> None:
    path = f"/account/members/{added(customer)['id']}"
    error = error_of(customer.call("PATCH", path, json={"email_address": "a@b.c"}), 422, "validation_error")
    assert fields_of(error) == ["email_address"]


def test_a_role_that_is_lost_is_lost_to_the_keys_at_once(customer: Customer) -> None:
    ada = added(customer)
    hers = with_key_of(customer, ada["id"])
    assert hers.get("/account/api_keys").status_code == 200
    customer.call("PATCH", f"/account/members/{ada['id']}", json={"role": "member"})
    error_of(hers.get("/account/api_keys"), 403, "forbidden")


def test_removal_ends_the_keys_and_the_assignments(customer: Customer, project: str) -> None:
    ada, bo = added(customer), added(customer, email_address="bo@acme.example")
    hers = with_key_of(customer, ada["id"])
    experiment = customer.an_experiment(project, assigned_user_ids=[ada["id"], bo["id"]])
    updated = customer.get(experiment).json()["data"]["updated_at"]
    assert customer.call("DELETE", f"/account/members/{ada['id']}").status_code == 204
    error_of(hers.get("/account"), 401, "invalid_api_key")
    detail = customer.get(experiment).json()["data"]
    assert (detail["assigned_user_ids"], detail["updated_at"]) == ([bo["id"]], updated)
    # What was read can be sent back.
    sent_back = {"assigned_user_ids": detail["assigned_user_ids"], "hypothesis": f"{ada['id']} knew"}
    assert customer.patch(experiment, sent_back).status_code == 200
    error_of(customer.call("DELETE", f"/account/members/{ada['id']}"), 404, "not_found")


def test_the_only_owner_stays_one(customer: Customer, services: Services) -> None:
    (owner,) = services.catalog.members.accepted(customer.account.id)
    path = f"/account/members/{owner.id}"
    error_of(customer.call("DELETE", path), 422, "last_owner")
    error_of(customer.call("PATCH", path, json={"role": "admin"}), 422, "last_owner")
    added(customer, role="owner")
    assert customer.call("PATCH", path, json={"role": "admin"}).status_code == 200
    assert roles_of(customer) == ["admin", "owner"]


def test_an_admin_makes_no_owner_and_touches_none(customer: Customer, services: Services) -> None:
    (owner,) = services.catalog.members.accepted(customer.account.id)
    ada = added(customer)
    admin = with_key_of(customer, ada["id"])
    more = {"email_address": "bo@acme.example", "name": "Bo", "role": "owner"}
    error = error_of(admin.post("/account/members", more), 422, "validation_error")
    assert fields_of(error) == ["role"]
    error = error_of(
        admin.call("PATCH", f"/account/members/{ada['id']}", json={"role": "owner"}), 422, "validation_error"
    )
    assert fields_of(error) == ["role"]
    error_of(admin.call("PATCH", f"/account/members/{owner.id}", json={"role": "member"}), 403, "forbidden")
    error_of(admin.call("DELETE", f"/account/members/{owner.id}"), 403, "forbidden")
    key = {"name": "Theirs", "scopes": ["projects:read"], "member_id": owner.id}
    assert fields_of(error_of(admin.post("/account/api_keys", key), 422, "validation_error")) == ["member_id"]
    assert roles_of(customer) == ["owner", "admin"]


def test_an_admin_manages_admins_and_members(customer: Customer) -> None:
    admin = with_key_of(customer, added(customer)["id"])
    bo = added(admin, email_address="bo@acme.example")
    assert admin.call("PATCH", f"/account/members/{bo['id']}", json={"role": "member"}).status_code == 200
    assert admin.call("DELETE", f"/account/members/{bo['id']}").status_code == 204


@pytest.mark.parametrize("holder", ["mem_none", "", 7])
def test_a_key_is_of_a_member_of_the_account(customer: Customer, stranger: Customer, holder: object) -> None:
    theirs = stranger.get("/account/members").json()["data"][0]["id"]
    for member_id in (holder, theirs):
        body = {"name": "CI", "scopes": ["projects:read"], "member_id": member_id}
        error = error_of(customer.post("/account/api_keys", body), 422, "validation_error")
        assert set(fields_of(error)) == {"member_id"}


def test_a_repeated_addition_and_removal_are_carried_out_once(customer: Customer) -> None:
    once = {"Idempotency-Key": "add ada"}
    first, again = (customer.call("POST", "/account/members", json=ADA, headers=once) for _ in range(2))
    assert (again.status_code, again.json()) == (201, first.json())
    path, once = f"/account/members/{first.json()['data']['id']}", {"Idempotency-Key": "remove ada"}
    assert [customer.call("DELETE", path, headers=once).status_code for _ in range(2)] == [204, 204]
