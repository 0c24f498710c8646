"""Verdicts of many experiments in one answer, as last counted."""

import pytest

from tests.api.customers import Customer
from tests.api.dashboard.test_experiments import send_visitors
from tests.api.request_bodies import error_of


@pytest.fixture
def running(customer: Customer, project: str) -> str:
    """A counted experiment of the project, beside a draft."""
    customer.an_experiment(project, name="Not started")
    path = customer.an_experiment(project, name="Green button", tags=["shop"])
    customer.post(f"{path}/start")
    send_visitors(customer, path, {0: (300, 20), 1: (310, 40)})
    customer.data_of(f"{path}/results")
    return path


def test_a_verdict_is_that_of_the_results(customer: Customer, project: str, running: str) -> None:
    results = customer.data_of(f"{running}/results/summary")
    answer = customer.get(f"{project}/verdicts").json()
    one, draft = answer["data"]
    assert answer["meta"]["total"] == 2
    assert (draft["name"], draft["verdict"], draft["started_at"]) == ("Not started", None, None)
    assert (one["name"], one["status"], one["tags"], one["owner"]) == (
        "Green button",
        "running",
        ["shop"],
        None,
    )
    decision, treatment = results["decision_summary"], results["variants"][1]
    verdict = one["verdict"]
    for name in ("recommendation", "recommendation_label", "reason", "headline", "visitors", "conversions"):
        assert verdict[name] == decision[name], name
    assert verdict["lift"]["improvement"] == treatment["improvement"]
    assert verdict["lift"]["improvement_interval"] == treatment["improvement_interval"]
    assert verdict["plan"]["required_visitors"] == results["plan"]["required_visitors"]
    assert [(each["kind"], each["after"]) for each in one["changes"]][-2:] == [
        ("status", "running"),
        ("status", "draft"),
    ]
    later = customer.get(f"{project}/verdicts", since="2999-01-01T00:00:00Z").json()["data"]
    assert [each["changes"] for each in later] == [[], []]


def test_all_projects_that_the_key_reaches_are_told_at_once(
    customer: Customer, project: str, running: str
) -> None:
    other = customer.an_experiment(customer.a_project(name="Second"), name="Elsewhere")
    named = [one["id"] for one in customer.get("/account/verdicts").json()["data"]]
    assert {running.rsplit("/", maxsplit=1)[-1], other.split("/")[-1]} <= set(named)
    bound = customer.with_key("results:read", project_ids=(project.rsplit("/", maxsplit=1)[-1],))
    assert {one["project_id"] for one in bound.get("/account/verdicts").json()["data"]} == {
        project.rsplit("/", maxsplit=1)[-1]
    }
    assert bound.get("/account/verdicts", status="paused").json()["meta"]["total"] == 0


def test_lists_are_found_by_tag_owner_and_verdict(customer: Customer, project: str, running: str) -> None:
    member = customer.services.catalog.members.accepted(customer.account.id)[0].id
    owned = customer.an_experiment(project, name="Owned", assigned_user_ids=[member])
    experiments = f"{project}/experiments"
    verdict = customer.data_of(f"{running}/results/summary")["decision_summary"]["recommendation"]

    def found(**query: str) -> list[str]:
        return [one["name"] for one in customer.get(experiments, **query).json()["data"]]

    assert found(search="GREEN") == found(tag="shop") == found(verdict=verdict) == ["Green button"]
    assert (found(owner=member), customer.data_of(owned)["owner"]) == (["Owned"], member)
    assert found(search="button", status="draft") == []
    assert found(sort="name") == ["Green button", "Not started", "Owned"]
    assert found(sort="verdict")[0] == "Green button"
    page = customer.get(experiments, sort="-name", page="2", per_page="2").json()
    assert (page["data"][0]["name"], page["meta"]["total"]) == ("Green button", 3)
    for wrong in ({"verdict": "good"}, {"sort": "salt"}, {"page": "0"}, {"tag": "x" * 51}):
        error_of(customer.get(experiments, **wrong), 422, "validation_error")
    without = customer.with_key("experiments:read")
    assert without.get(experiments, search="green", sort="name").status_code == 200
    for asked in ({"verdict": "ship"}, {"sort": "-improvement"}):
        error_of(without.get(experiments, **asked), 403, "forbidden")


def test_a_copy_of_any_status_is_a_draft(customer: Customer, project: str, running: str) -> None:
    answer = customer.post(f"{running}/copy")
    copy = answer.json()["data"]
    assert (answer.status_code, copy["status"], copy["name"]) == (201, "draft", "Copy of Green button")
    assert (copy["test_key"], copy["tags"]) == ("copy-of-green-button", ["shop"])
    again = customer.post(f"{running}/copy", {"name": "Copy of Green button"}).json()["data"]
    assert (again["test_key"], again["id"] != copy["id"]) == ("copy-of-green-button-2", True)
    entry = customer.get("/account/audit", subject_id=copy["id"]).json()["data"][0]
    assert (entry["action"], entry["changes"]["name"]) == ("created", [None, "Copy of Green button"])
    assert customer.post(f"{project}/experiments/{copy['id']}/start").status_code == 200
    error_of(customer.post(f"{project}/experiments/exp_none/copy"), 404, "not_found")
    error_of(customer.post(f"{running}/copy", {"names": "x"}), 422, "validation_error")
