"""Share links over the API: made once, listed, and revoked one by one or all of an account."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

LINK = {
    *("id", "project_id", "experiment_id", "experiment_name", "member_id", "member_name"),
    *("shows_money", "created_at", "expires_at", "revoked_at"),
}


def created(customer: Customer, experiment: str, body: object = None, **headers: str) -> dict[str, Any]:
    answer = customer.call("POST", f"{experiment}/share_links", json=body, headers=headers)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    data: dict[str, Any] = answer.json()["data"]
    return data


def days_of(link: dict[str, Any]) -> timedelta:
    return datetime.fromisoformat(link["expires_at"]) - datetime.fromisoformat(link["created_at"])


def test_a_link_is_made_for_a_month_without_money_and_shown_once(
    customer: Customer, services: Services, experiment: str
) -> None:
    made = created(customer, experiment)
    link = made["share_link"]
    assert set(link) == LINK
    assert (days_of(link), link["shows_money"], link["revoked_at"]) == (timedelta(days=30), False, None)
    address = urlsplit(made["url"])
    assert (address.netloc, address.path.count("/")) == (
        urlsplit(str(services.settings.base_url)).netloc,
        2,
    )
    assert len(address.path.rpartition("/")[2]) == 43
    other = created(customer, experiment, {"days": 90, "shows_money": True})["share_link"]
    assert (days_of(other), other["shows_money"]) == (timedelta(days=90), True)
    listed = customer.get(f"{experiment}/share_links")
    assert listed.json()["data"] == [other, link]
    assert address.path.rpartition("/")[2] not in listed.text + customer.get("/account/audit").text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"days": 0}, "days"),
        ({"days": 91}, "days"),
        ({"days": "30"}, "days"),
        ({"shows_money": "yes"}, "shows_money"),
        ({"token": "mine"}, "token"),
    ],
)
def test_a_wrong_body_is_refused(customer: Customer, experiment: str, body: object, field: str) -> None:
    refused = customer.post(f"{experiment}/share_links", body)
    assert fields_of(error_of(refused, 422, "validation_error")) == [field]


def test_a_repeated_request_makes_one_link(customer: Customer, experiment: str) -> None:
    key = {"Idempotency-Key": experiment}
    assert created(customer, experiment, {"days": 7}, **key) == created(
        customer, experiment, {"days": 7}, **key
    )
    assert len(customer.get(f"{experiment}/share_links").json()["data"]) == 1


def test_a_key_that_reads_no_results_shares_none(customer: Customer, experiment: str) -> None:
    writer = customer.with_key("experiments:write")
    refused = error_of(writer.post(f"{experiment}/share_links"), 403, "forbidden")
    assert "results:read" in refused["message"]


def test_a_link_is_revoked_again_without_an_effect(customer: Customer, experiment: str) -> None:
    path = f"{experiment}/share_links/{created(customer, experiment)['share_link']['id']}"
    assert [customer.call("DELETE", path).status_code for _ in range(2)] == [204, 204]
    (link,) = customer.get(f"{experiment}/share_links").json()["data"]
    assert link["revoked_at"] is not None
    trail = customer.get("/account/audit", subject_id=link["id"]).json()["data"]
    assert [(entry["action"], entry["subject_type"]) for entry in trail] == [
        ("changed", "share_link"),
        ("created", "share_link"),
    ]
    assert trail[0]["changes"]["revoked_at"] == [None, link["revoked_at"]]
    assert trail[1]["changes"]["experiment_id"] == [None, link["experiment_id"]]
    other = customer.an_experiment(experiment.partition("/experiments")[0])
    error_of(customer.call("DELETE", path.replace(experiment, other)), 404, "not_found")


def test_a_project_forbids_links(customer: Customer, project: str, experiment: str) -> None:
    created(customer, experiment)
    assert customer.patch(project, {"settings": {"share_links": False}}).status_code == 200
    (link,) = customer.get(f"{experiment}/share_links").json()["data"]
    assert link["revoked_at"] is not None
    error_of(customer.post(f"{experiment}/share_links"), 422, "sharing_forbidden")


def test_admins_list_what_works_in_an_account_and_revoke_all(customer: Customer, experiment: str) -> None:
    other = customer.an_experiment(customer.a_project())
    links = [created(customer, path)["share_link"]["id"] for path in (experiment, other, experiment)]
    customer.call("DELETE", f"{experiment}/share_links/{links[0]}")
    listed = customer.get("/account/share_links", per_page=1).json()
    assert ([one["id"] for one in listed["data"]], listed["meta"]["total"]) == ([links[2]], 2)
    revoked = customer.call("DELETE", "/account/share_links")
    assert revoked.json()["data"] == {"revoked": 2}
    assert customer.call("DELETE", "/account/share_links").json()["data"] == {"revoked": 0}
    assert customer.get("/account/share_links").json()["data"] == []
