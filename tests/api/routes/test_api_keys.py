import logging
from typing import Any

import pytest

from api.services import Services
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

ISSUED = {"id", "name", "environment", "key_prefix", "scopes", "project_ids", "member_id", "created_at"}


def created(customer: Customer, **fields: Any) -> dict[str, Any]:
    answer = customer.post("/account/api_keys", {"name": "CI", "scopes": ["projects:read"], **fields})
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def holding(customer: Customer, token: str) -> Customer:
    return Customer(customer.client, customer.services, customer.account, token)


def test_created_key_works_and_does_what_its_scopes_say(customer: Customer) -> None:
    data = created(customer)
    key = data["api_key"]
    assert set(data) == {"token", "api_key"}
    assert set(key) == ISSUED
    assert (key["name"], key["environment"], key["scopes"], key["project_ids"]) == (
        "CI",
        "live",
        ["projects:read"],
        [],
    )
    prefix, environment, token_id, secret = data["token"].split("_")
    assert (prefix, environment) == ("svc", "live")
    assert key["key_prefix"] == f"svc_live_{token_id}"
    assert len(secret) == 64
    mine = holding(customer, data["token"])
    assert mine.get("/projects").status_code == 200
    error_of(mine.get("/account"), 403, "forbidden")


def test_test_key_says_so_in_its_token_and_reaches_the_same_data(customer: Customer, project: str) -> None:
    data = created(customer, environment="test")
    assert data["token"].startswith("svc_test_")
    assert holding(customer, data["token"]).get(project).status_code == 200


def test_key_can_be_restricted_to_projects(customer: Customer, project: str) -> None:
    other = customer.a_project()
    mine = holding(customer, created(customer, project_ids=[project.rpartition("/")[2]])["token"])
    assert mine.get(project).status_code == 200
    error_of(mine.get(other), 404, "not_found")


def test_answer_with_a_secret_is_kept_by_no_cache(customer: Customer) -> None:
    answer = customer.post("/account/api_keys", {"name": "CI", "scopes": ["projects:read"]})
    assert answer.headers["Cache-Control"] == "no-store"


def test_keys_are_listed_newest_first_without_their_secrets_or_pages(customer: Customer) -> None:
    tokens = [created(customer, name=name)["token"] for name in ("one", "two")]
    answer = customer.get("/account/api_keys")
    assert list(answer.json()) == ["data"]
    listed = answer.json()["data"]
    assert [key["name"] for key in listed] == ["two", "one", "First key"]
    assert all(set(key) == ISSUED | {"last_used_at", "revoked_at"} for key in listed)
    assert listed[-1]["last_used_at"].endswith("Z")
    assert listed[0]["last_used_at"] is None
    for token in (*tokens, customer.token):
        assert token.rpartition("_")[2] not in answer.text


def test_revoked_key_stops_at_once_and_stays_listed(customer: Customer) -> None:
    data = created(customer)
    answer = customer.post(f"/account/api_keys/{data['api_key']['id']}/revoke")
    assert answer.status_code == 200
    revoked = answer.json()["data"]["api_key"]
    assert (revoked["id"], revoked["name"]) == (data["api_key"]["id"], "CI")
    assert revoked["revoked_at"].endswith("Z")
    error_of(holding(customer, data["token"]).get("/projects"), 401, "invalid_api_key")
    assert customer.get("/account/api_keys").json()["data"][0]["revoked_at"] == revoked["revoked_at"]
    again = customer.post(f"/account/api_keys/{data['api_key']['id']}/revoke")
    assert again.json()["data"]["api_key"]["revoked_at"] == revoked["revoked_at"]


def test_key_can_revoke_itself(customer: Customer) -> None:
    (key,) = customer.get("/account/api_keys").json()["data"]
    assert customer.post(f"/account/api_keys/{key['id']}/revoke").status_code == 200
    error_of(customer.get("/account"), 401, "invalid_api_key")


def test_key_of_another_account_is_not_found(customer: Customer, stranger: Customer) -> None:
    (theirs,) = stranger.get("/account/api_keys").json()["data"]
    error_of(customer.post(f"/account/api_keys/{theirs['id']}/revoke"), 404, "not_found")
    assert stranger.get("/account").status_code == 200


def test_key_needs_a_name_and_scopes(customer: Customer) -> None:
    error = error_of(customer.post("/account/api_keys", {}), 422, "validation_error")
    assert fields_of(error) == ["name", "scopes"]
    error = error_of(customer.post("/account/api_keys", {"name": "x", "scopes": []}), 422, "validation_error")
    assert fields_of(error) == ["scopes"]


def test_everything_wrong_with_a_key_is_named_at_once(customer: Customer, stranger: Customer) -> None:
    theirs = stranger.a_project().rpartition("/")[2]
    body = {
        "name": " ",
        "environment": "staging",
        "scopes": ["projects:read", "all", 7, "sdk:write"],
        "project_ids": ["prj_nowhere", theirs, None],
        "colour": "red",
    }
    lesser = customer.with_key("api_keys:write", "projects:read")
    error = error_of(lesser.post("/account/api_keys", body), 422, "validation_error")
    assert set(fields_of(error)) == {
        "name",
        "environment",
        "scopes[1]",
        "scopes[2]",
        "scopes[3]",
        "project_ids[0]",
        "project_ids[1]",
        "project_ids[2]",
        "colour",
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 7),
        ("name", "x" * 256),
        ("name", "a\x00b"),
        ("name", None),
        ("environment", ["live"]),
        ("scopes", "projects:read"),
        ("scopes", {"projects:read": True}),
        ("scopes", [["projects:read"]]),
        ("scopes", ["projects:read", "projects:read"]),
        ("project_ids", "prj"),
        ("project_ids", ["x" * 1000]),
        ("project_ids", [2**70]),
        ("project_ids", ["prj_x"] * 5000),
    ],
)
def test_key_of_another_shape_is_refused_and_none_is_made(
    customer: Customer, field: str, value: object
) -> None:
    body = {"name": "CI", "scopes": ["projects:read"], field: value}
    error = error_of(customer.post("/account/api_keys", body), 422, "validation_error")
    assert {name.partition("[")[0] for name in fields_of(error)} == {field}
    assert len(customer.get("/account/api_keys").json()["data"]) == 1


def test_key_grants_no_scope_that_it_lacks(customer: Customer) -> None:
    lesser = customer.with_key("api_keys:write", "results:read")
    body = {"name": "More", "scopes": ["results:read", "projects:write"]}
    error = error_of(lesser.post("/account/api_keys", body), 422, "validation_error")
    assert fields_of(error) == ["scopes[1]"]
    assert created(lesser, scopes=["results:read", "api_keys:write"])["api_key"]["scopes"] == [
        "results:read",
        "api_keys:write",
    ]


def test_restricted_key_manages_no_keys(customer: Customer, project: str) -> None:
    restricted = customer.with_key(project_ids=(project.rpartition("/")[2],))
    (key, *_) = customer.get("/account/api_keys").json()["data"]
    for method, path in (
        ("GET", "/account/api_keys"),
        ("POST", "/account/api_keys"),
        ("POST", f"/account/api_keys/{key['id']}/revoke"),
    ):
        error_of(restricted.call(method, path), 403, "forbidden")


@pytest.mark.parametrize(("role", "status"), [("member", 403), ("admin", 200), ("owner", 200)])
def test_keys_are_managed_by_owners_and_admins(
    customer: Customer, services: Services, role: str, status: int
) -> None:
    member = services.catalog.members.add(customer.account.id, "ada@acme.example", "Ada", role)
    _, token = services.catalog.keys.create(customer.account.id, member.id, "Ada's", SCOPES)
    assert holding(customer, token).get("/account/api_keys").status_code == status


def test_created_key_belongs_to_who_created_it(customer: Customer, services: Services) -> None:
    admin = services.catalog.members.add(customer.account.id, "ada@acme.example", "Ada", "admin")
    key, token = services.catalog.keys.create(customer.account.id, admin.id, "Ada's", SCOPES)
    id_ = created(holding(customer, token))["api_key"]["id"]
    made = next(one for one in services.catalog.keys.of_account(customer.account.id) if one.id == id_)
    assert made.member_id == admin.id
    assert [entry.actor for entry in services.catalog.audit.of(id_)] == [key.id]


def test_secrets_enter_no_log_and_no_trail(
    customer: Customer, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    data = created(customer)
    secret = data["token"].rpartition("_")[2]
    holding(customer, data["token"]).get("/projects/prj_nowhere")
    holding(customer, data["token"] + "x").get("/projects")
    assert caplog.text
    assert secret not in caplog.text
    assert customer.token.rpartition("_")[2] not in caplog.text
    assert secret not in repr(services.catalog.audit.of(data["api_key"]["id"]))


def test_error_does_not_echo_the_key(customer: Customer) -> None:
    for token in (customer.token + "x", "svc_live_abc_secret"):
        answer = holding(customer, token).get("/projects")
        assert token not in answer.text
        assert token.rpartition("_")[2] not in answer.text
