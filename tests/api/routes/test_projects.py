from datetime import datetime

import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of

FIELDS = {
    "id",
    "name",
    "url",
    "platform",
    "installation_guide",
    "reporting_timezone",
    "integrations",
    "environments",
    "settings",
    "snippet_verified",
    "running_experiments_count",
    "created_at",
    "updated_at",
}


def test_new_project_has_the_defaults_and_its_sdk_key(customer: Customer) -> None:
    answer = customer.post("/projects", {"name": "Shop", "url": "https://shop.example"})
    assert answer.status_code == 201
    data = answer.json()["data"]
    assert set(data) == FIELDS | {"api_key"}
    assert data["id"].startswith("prj_")
    assert data["api_key"].startswith("pk_")
    assert data["created_at"].endswith("Z")
    assert datetime.fromisoformat(data["created_at"]).tzinfo is not None
    expected: dict[str, object] = {
        "name": "Shop",
        "url": "https://shop.example",
        "platform": "custom_js",
        "installation_guide": "custom_js",
        "reporting_timezone": None,
        "integrations": {"ga4": {"enabled": False}, "gtm": {"enabled": False}},
        "environments": [],
        "settings": {},
        "snippet_verified": False,
        "running_experiments_count": 0,
    }
    assert {name: data[name] for name in expected} == expected


def test_project_is_read_back_without_its_sdk_key(customer: Customer) -> None:
    fields = {
        "name": "Laden",
        "url": "https://laden.example",
        "platform": "shopify",
        "installation_guide": "gtm",
        "reporting_timezone": "Europe/Berlin",
        "integrations": {"ga4": {"enabled": True, "measurement_id": "G-ABC"}, "gtm": {"enabled": False}},
        "environments": [{"key": "live", "name": "Live", "hostnames": ["laden.example"]}],
        "settings": {"revenue_currency": "EUR", "attribution_window_days": 14},
    }
    data = customer.get(customer.a_project(**fields)).json()["data"]
    assert set(data) == FIELDS
    assert {name: data[name] for name in fields} == fields


def test_project_needs_a_name_and_a_url(customer: Customer) -> None:
    assert set(fields_of(error_of(customer.post("/projects", {}), 422, "validation_error"))) == {
        "name",
        "url",
    }


def test_only_the_fields_that_are_sent_change(customer: Customer, project: str) -> None:
    before = customer.get(project).json()["data"]
    answer = customer.patch(project, {"reporting_timezone": "America/New_York"})
    after = answer.json()["data"]
    assert answer.status_code == 200
    assert after["updated_at"] > before["updated_at"]
    assert {**before, "reporting_timezone": "America/New_York", "updated_at": after["updated_at"]} == after
    assert customer.get(project).json()["data"] == after


def test_timezone_can_be_taken_back(customer: Customer) -> None:
    project = customer.a_project(reporting_timezone="Asia/Tokyo")
    assert customer.patch(project, {"reporting_timezone": None}).json()["data"]["reporting_timezone"] is None


def test_change_of_one_integration_keeps_the_other(customer: Customer, project: str) -> None:
    ga4 = {"enabled": True, "measurement_id": "G-ABC"}
    customer.patch(project, {"integrations": {"ga4": ga4}})
    customer.patch(project, {"integrations": {"gtm": {"enabled": True}}})
    both = {"ga4": ga4, "gtm": {"enabled": True}}
    assert customer.get(project).json()["data"]["integrations"] == both
    answer = customer.patch(project, {"integrations": {"ga4": None}}).json()["data"]
    assert answer["integrations"] == {**both, "ga4": {"enabled": False}}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reporting_timezone", "Mars/Olympus"),
        ("platform", "geocities"),
        ("url", "shop.example"),
        ("name", None),
        ("settings", {"colour": "red"}),
        ("colour", "red"),
    ],
)
def test_update_that_would_be_wrong_is_refused(
    customer: Customer, project: str, field: str, value: object
) -> None:
    before = customer.get(project).json()
    error = error_of(customer.patch(project, {field: value}), 422, "validation_error")
    assert [name.partition(".")[0] for name in fields_of(error)] == [field]
    assert customer.get(project).json() == before


def test_what_the_service_assigns_can_be_sent_back_and_changes_nothing(
    customer: Customer, project: str
) -> None:
    before = customer.get(project).json()["data"]
    after = customer.patch(project, {**before, "id": "prj_mine", "snippet_verified": True}).json()["data"]
    assert after == {**before, "updated_at": after["updated_at"]}


def test_projects_are_listed_last_updated_first(customer: Customer) -> None:
    first, second, third = (customer.a_project(name=name) for name in "abc")
    customer.patch(first, {"name": "again"})
    listed = customer.get("/projects").json()
    assert [f"/projects/{found['id']}" for found in listed["data"]] == [first, third, second]
    assert listed["meta"] == {"page": 1, "per_page": 25, "total": 3}
    assert set(listed["data"][0]) == FIELDS


def test_projects_come_in_pages(customer: Customer) -> None:
    for name in "abc":
        customer.a_project(name=name)
    second = customer.get("/projects", page=2, per_page=2).json()
    assert [found["name"] for found in second["data"]] == ["a"]
    assert second["meta"] == {"page": 2, "per_page": 2, "total": 3}
    beyond = customer.get("/projects", page=10**30).json()
    assert (beyond["data"], beyond["meta"]["total"]) == ([], 3)


def test_page_holds_a_hundred_at_most(customer: Customer) -> None:
    assert customer.get("/projects", per_page=101).json()["meta"]["per_page"] == 100


def test_running_experiments_are_counted(customer: Customer, project: str, experiment: str) -> None:
    assert customer.get(project).json()["data"]["running_experiments_count"] == 0
    customer.post(f"{experiment}/start")
    assert customer.get(project).json()["data"]["running_experiments_count"] == 1
    assert customer.get("/projects").json()["data"][0]["running_experiments_count"] == 1
    customer.post(f"{experiment}/pause")
    assert customer.patch(project, {}).json()["data"]["running_experiments_count"] == 0


def test_plan_bounds_the_projects(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, plan="starter")
    for name in "abc":
        customer.a_project(name=name)
    body = {"name": "d", "url": "https://shop.example"}
    error_of(customer.post("/projects", body), 422, "plan_limit_reached")
    services.catalog.accounts.update(customer.account.id, plan="growth")
    assert customer.post("/projects", body).status_code == 201


def test_writes_are_audited_with_the_key_that_made_them(
    customer: Customer, services: Services, project: str
) -> None:
    customer.patch(project, {"name": "Renamed"})
    created, changed = services.catalog.audit.of(project.rpartition("/")[2])
    key = services.catalog.keys.of_account(customer.account.id)[0]
    assert (created.actor, changed.actor) == (key.id, key.id)
    assert changed.changes["name"] == ["Shop", "Renamed"]
