from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

from api.services import Services
from pipeline.store.warehouse.events import stored_projects
from pipeline.store.warehouse.published import list_experiments
from tests.api.customers import Customer, a_customer_of
from tests.api.request_bodies import error_of
from tests.api.shops import Shop


@pytest.fixture
def customer(own_client: TestClient) -> Customer:
    return a_customer_of(own_client)


@pytest.fixture
def services(customer: Customer) -> Services:
    return customer.services


@pytest.fixture
def shop(customer: Customer, project: str, experiment: str) -> Shop:
    """A project with one visitor, counted."""
    shop = Shop.opened_by(customer, project, experiment)
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure()]})
    counted = customer.get(f"{experiment}/results").json()["data"]
    assert sum(variant["visitors"] for (results,) in [counted["variants"].values()] for variant in results)
    return shop


def test_deleted_project_is_gone_with_everything_that_was_collected(
    customer: Customer, services: Services, project: str, experiment: str, shop: Shop
) -> None:
    answer = customer.call("DELETE", project)
    assert (answer.status_code, answer.content) == (204, b"")
    for path in (project, experiment, f"{experiment}/results", f"{project}/stats", f"{project}/experiments"):
        error_of(customer.get(path), 404, "not_found")
    error_of(customer.call("DELETE", project), 404, "not_found")
    assert customer.get("/projects").json()["meta"]["total"] == 0
    assert shop.project_id not in stored_projects(services.warehouse)
    assert shop.experiment["id"] not in list_experiments(services.warehouse)
    with services.warehouse.cursor() as cursor:
        tables = [name for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    assert not [name for name in tables if shop.experiment["id"] in name or shop.project_id in name]


def test_public_key_of_a_deleted_project_reaches_nothing(
    customer: Customer, project: str, shop: Shop
) -> None:
    customer.call("DELETE", project)
    answer = shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("e2")]})
    error_of(answer, 401, "invalid_api_key")


def test_deletion_leaves_a_trail_of_what_was_there(
    customer: Customer, services: Services, project: str, shop: Shop
) -> None:
    customer.call("DELETE", project)
    key = services.catalog.keys.of_account(customer.account.id)[0]
    for subject_id, name in ((shop.project_id, "Shop"), (shop.experiment["id"], "Checkout button")):
        entry = services.catalog.audit.of(subject_id)[-1]
        assert (entry.actor, entry.account_id) == (key.id, customer.account.id)
        assert entry.changes["name"] == [name, None]
        assert services.catalog.audit.was_deleted(subject_id)


def test_deletion_gives_the_plan_its_place_back(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, max_projects=1)
    project = customer.a_project()
    customer.call("DELETE", project)
    assert customer.post("/projects", {"name": "d", "url": "https://shop.example"}).status_code == 201


def test_key_restricted_to_a_deleted_project_reaches_nothing(customer: Customer, project: str) -> None:
    other = customer.a_project()
    restricted = customer.with_key(project_ids=(project.rpartition("/")[2],))
    assert restricted.call("DELETE", project).status_code == 204
    assert restricted.get("/projects").json()["data"] == []
    error_of(restricted.get(other), 404, "not_found")
    error_of(restricted.post("/projects", {}), 403, "forbidden")


def test_other_projects_keep_their_data(customer: Customer, services: Services, shop: Shop) -> None:
    other = customer.a_project()
    customer.call("DELETE", other)
    assert shop.project_id in stored_projects(services.warehouse)
    assert shop.stored() == ["e1"]


def test_of_callers_deleting_one_project_one_wins(customer: Customer, project: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: customer.call("DELETE", project), range(8)))
    assert sorted(answer.status_code for answer in answers) == [204, *[404] * 7]


def test_repeated_deletion_is_answered_alike_and_done_once(
    customer: Customer, services: Services, project: str, shop: Shop
) -> None:
    answers = [customer.call("DELETE", project, headers={"Idempotency-Key": "bye"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [204, 204]
    assert answers[1].headers["Idempotent-Replayed"] == "true"
    assert shop.project_id not in stored_projects(services.warehouse)
    assert len(services.catalog.audit.of(shop.project_id)) == 2
