"""Reviews over the API: two members, what they refuse, and what is kept of them."""

from datetime import timedelta
from typing import Any

import pytest

from api.services import Services
from pipeline.clock import utc_now
from pipeline.jobs.lifecycle import start_scheduled
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

START = {"purpose": "start"}


@pytest.fixture
def project(customer: Customer) -> str:
    return customer.a_project(settings={"review": "required"})


def reason_of(answer: Any, code: str) -> str:
    error = error_of(answer, 422, code)
    assert fields_of(error) == ["review"]
    message: str = error["details"][0]["message"]
    return message


def test_a_draft_starts_and_is_shipped_with_the_yes_of_a_second_member(
    customer: Customer, services: Services, project: str
) -> None:
    draft, bo = customer.an_experiment(project), customer.as_colleague()
    assert "ask for a review" in reason_of(customer.post(f"{draft}/start"), "start_requirements_not_met")
    asked = customer.post(f"{draft}/review", {**START, "note": "Checked twice."}).json()["data"]
    assert [one["state"] for one in asked["reviews"]] == ["waiting"]
    assert "owner asked" in reason_of(customer.with_key().post(f"{draft}/approve", START), "not_reviewable")
    approved = bo.post(f"{draft}/approve", {**START, "note": "Fine."}).json()["data"]["reviews"][0]
    assert (approved["state"], approved["approved_by_name"], approved["answer"]) == (
        "approved",
        "Bo",
        "Fine.",
    )
    assert customer.post(f"{draft}/start").json()["data"]["status"] == "running"
    assert customer.post(f"{draft}/pause").status_code == customer.post(f"{draft}/resume").status_code == 200
    assert "ask for a review" in reason_of(customer.ship(draft), "review_required")
    variant = asked["variants"][1]["id"]
    assert bo.post(f"{draft}/review", {"purpose": "ship", "variant_id": variant}).status_code == 200
    assert customer.post(f"{draft}/approve", {"purpose": "ship"}).status_code == 200
    assert "rollout" in reason_of(customer.ship(draft, rollout=False), "review_required")
    assert customer.ship(draft).json()["data"]["conclusion"]["decision"] == "ship"
    kept = services.catalog.audit.of(draft.rpartition("/")[2])
    assert [
        len(one.changes["reviews"][1]) for one in kept if one.changes.keys() == {"reviews", "updated_at"}
    ] == [*(1, 1, 2, 2)]


def test_a_change_voids_the_yes_and_ends_need_none(customer: Customer, project: str) -> None:
    draft, bo = customer.a_reviewed_draft(project), customer.as_colleague("Cy")
    assert bo.post(f"{draft}/approve", START).status_code == 200
    assert customer.patch(draft, {"traffic_allocation": 50}).status_code == 200
    assert "has changed" in reason_of(customer.post(f"{draft}/start"), "start_requirements_not_met")
    assert "has changed" in reason_of(bo.post(f"{draft}/approve", START), "not_reviewable")
    assert customer.post(f"{draft}/review", START).status_code == 200
    assert bo.post(f"{draft}/review/withdraw", {**START, "note": "No."}).status_code == 200
    assert "Cy withdrew" in reason_of(customer.post(f"{draft}/start"), "start_requirements_not_met")
    assert customer.post(f"{draft}/review", START).status_code == 200
    assert bo.post(f"{draft}/approve", START).status_code == 200
    assert bo.post(f"{draft}/start").status_code == 200
    kept = customer.post(f"{draft}/ship", {"decision": "keep_control", "note": "No effect."})
    assert kept.status_code == 200


def test_channels_and_webhooks_are_told_who_asks_and_of_the_answer(customer: Customer, project: str) -> None:
    told = [customer.a_webhook(project), customer.a_channel(project)]
    draft, bo = customer.an_experiment(project), customer.as_colleague()
    assert customer.post(f"{draft}/review", {**START, "note": "Checked twice."}).status_code == 200
    assert bo.post(f"{draft}/approve", START).status_code == 200
    assert bo.post(f"{draft}/review/withdraw", START).status_code == 200
    of_webhook, of_channel = (customer.get(f"{one}/deliveries").json()["data"] for one in told)
    assert sorted(one["type"] for one in of_webhook) == [
        *("experiment.review_answered", "experiment.review_answered", "experiment.review_asked")
    ]
    assert [one["type"] for one in of_channel] == ["review_asked"]


def test_who_made_the_last_change_does_not_approve_and_a_removed_member_did_not(
    customer: Customer, services: Services, project: str
) -> None:
    draft, bo, cy = customer.an_experiment(project), customer.as_colleague(), customer.as_colleague("Cy")
    bo.patch(draft, {"name": "Bo's"})
    assert customer.post(f"{draft}/review", START).status_code == 200
    assert "Bo made the last change" in reason_of(bo.post(f"{draft}/approve", START), "not_reviewable")
    member = cy.post(f"{draft}/approve", START).json()["data"]["reviews"][0]["approved_by"]
    services.catalog.members.remove(customer.account.id, member)
    assert "no member any more" in reason_of(customer.post(f"{draft}/start"), "start_requirements_not_met")


def test_a_scheduled_start_waits_for_a_yes_to_what_it_is_by_then(
    customer: Customer, services: Services, project: str
) -> None:
    start, bo = utc_now() + timedelta(days=1), customer.as_colleague()
    draft = customer.an_experiment(project, scheduled_start_at=start.isoformat())
    for step, caller, body in (
        ("review", customer, START),
        ("approve", bo, START),
        ("start", customer, None),
    ):
        assert caller.post(f"{draft}/{step}", body).status_code == 200
    changed = customer.patch(draft, {"traffic_allocation": 40}).json()["data"]
    assert (changed["status"], changed["reviews"][0]["state"]) == ("scheduled", "changed")
    seen = []
    for minute in (1, 2):
        start_scheduled(services.catalog, now=start + timedelta(minutes=minute))
        seen.append(customer.data_of(draft)["status"])
        customer.post(f"{draft}/review", START)
        bo.post(f"{draft}/approve", START)
    assert seen == ["scheduled", "running"]


def test_owners_and_admins_change_whether_reviews_are_required(
    customer: Customer, services: Services, project: str
) -> None:
    catalog = services.catalog
    member = catalog.members.add(customer.account.id, f"{project[-6:]}@acme.example", "Ada", "member")
    _, token = catalog.keys.create(customer.account.id, member.id, "Ada's", SCOPES)
    ada = Customer(customer.client, services, customer.account, token)
    error_of(ada.patch(project, {"settings": {"review": None}}), 403, "forbidden")
    assert ada.patch(project, {"settings": {"review": "required", "keep_nights": 3}}).status_code == 200
    assert customer.patch(project, {"settings": {"review": "none"}}).status_code == 200
    assert customer.post(f"{customer.an_experiment(project)}/start").status_code == 200
