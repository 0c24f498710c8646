"""Permissions of every operation: scopes, restricted keys and other accounts."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, or_, select

from api.services import Services
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.keys import SCOPES
from pipeline.store.catalog.runs.run_record import Run
from pipeline.store.catalog.schema import metadata
from tests import contract
from tests.api.customers import Customer
from tests.api.described_sources import describe_source
from tests.api.operations import MORE_OPERATIONS, OPERATIONS, STEPS, Operation
from tests.api.request_bodies import error_of
from tests.builders import NOW

WITH_KEY = [one for one in (*OPERATIONS, *MORE_OPERATIONS) if one.subject != "nothing"]
every_operation = pytest.mark.parametrize("operation", WITH_KEY, ids=lambda one: one.name)


@dataclass(frozen=True, slots=True)
class Scene:
    """A customer's project, an experiment in it, and a key."""

    customer: Customer
    project_id: str
    experiment_id: str
    key_id: str
    run_id: str
    metric_id: str
    member_id: str
    webhook_id: str

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all of them."""
        resources = (self.project_id, self.experiment_id, self.run_id, self.metric_id)
        return (*resources, self.key_id, self.member_id, self.webhook_id)

    def ask(self, operation: Operation, token: str | None) -> httpx2.Response:
        """Call an operation on these objects with a token."""
        about_key, about_project = "/api_keys/" in operation.path, "{project_id}" not in operation.path
        id_ = self.key_id if about_key else self.project_id if about_project else self.experiment_id
        id_ = self.run_id if "/runs/" in operation.path else id_
        id_ = self.metric_id if "/metrics/" in operation.path else id_
        id_ = self.member_id if "/members/" in operation.path else id_
        id_ = self.webhook_id if "/webhooks/" in operation.path else id_
        path = operation.path.format(project_id=self.project_id, id=id_, visitor_id="nobody")
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.customer.client.request(operation.method, path, headers=headers, json=operation.body)

    def kept(self) -> dict[str, Any]:
        """Return the account's rows without the last use of keys, and the total number of rows."""
        own = {"account_id": self.customer.account.id, "project_id": self.project_id}
        stored: dict[str, Any] = {}
        with self.customer.services.catalog.database.read() as connection:
            for table in metadata.sorted_tables:
                columns = [column for column in table.c if column.name != "last_used_at"]
                mine = [table.c[name] == value for name, value in own.items() if name in table.c]
                rows = connection.execute(select(*columns).where(or_(False, *mine)))
                count = connection.scalar(select(func.count()).select_from(table))
                # The scheduler records runs of other tests' projects meanwhile.
                total = None if table.name == "runs" else count
                stored[table.name] = (total, sorted(map(repr, rows)))
        return stored


def a_scene(customer: Customer, operation: Operation) -> Scene:
    project = customer.a_project()
    experiment = customer.an_experiment(project)
    for step in STEPS[operation.status]:
        customer.post(f"{experiment}/{step}")
    catalog = customer.services.catalog
    holder = catalog.members.accepted(customer.account.id)[0]
    key, _ = catalog.keys.create(customer.account.id, holder.id, "Subject", ["projects:read"])
    project_id = project.rpartition("/")[2]
    run = Run(project_id=project_id, kind="rollup", trigger="api", status="done", created_at=NOW)
    catalog.runs.add(run)
    describe_source(customer.services, "described", project_id)
    experiment_id, metric_id = (path.rpartition("/")[2] for path in (experiment, customer.a_metric(project)))
    member = catalog.members.add(customer.account.id, f"{key.id}@acme.example", "Bo")
    webhook_id = customer.a_webhook(project).rpartition("/")[2]
    return Scene(customer, project_id, experiment_id, key.id, run.id, metric_id, member.id, webhook_id)


def refused(scene: Scene, operation: Operation, token: str | None, status: int, code: str) -> None:
    before = scene.kept()
    error_of(scene.ask(operation, token), status, code)
    assert scene.kept() == before


def test_operations_are_those_of_the_contract() -> None:
    assert [one.name for one in OPERATIONS] == contract.operations()


def test_every_operation_is_described_and_nothing_else_is(client: TestClient) -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in client.get("/openapi.json").json()["paths"].items()
        for method in methods
    }
    ours = {one.name for one in (*OPERATIONS, *MORE_OPERATIONS)}
    others = {name for name in described - ours if "/sdk/" not in name}
    assert ours - described == {"GET /openapi.json"}
    assert others == {"GET /healthz", "GET /readyz", "POST /api/v1/tools/sample_size"}


def test_description_needs_no_key(client: TestClient) -> None:
    assert client.get("/openapi.json").status_code == 200


@every_operation
def test_described_scopes_are_those_that_are_needed(client: TestClient, operation: Operation) -> None:
    document = client.get("/openapi.json").json()
    described = document["paths"][operation.path][operation.method.lower()]
    assert described["security"] == [{"bearer": [scope]} for scope in operation.scopes]


@every_operation
def test_key_with_just_the_scope_may(customer: Customer, operation: Operation) -> None:
    for scope in operation.scopes:
        scene = a_scene(customer, operation)
        # No key can grant a scope that it lacks itself.
        granting = (
            {"projects:read"} if operation.body == {"name": "CI", "scopes": ["projects:read"]} else set()
        )
        answer = scene.ask(operation, customer.with_key(*{scope, *granting}).token)
        assert answer.status_code in {200, 201, 202, 204}, answer.text


@every_operation
def test_nobody_without_a_key_may(customer: Customer, operation: Operation) -> None:
    refused(a_scene(customer, operation), operation, None, 401, "invalid_api_key")


@every_operation
def test_nobody_with_a_wrong_key_may(customer: Customer, operation: Operation) -> None:
    scene = a_scene(customer, operation)
    flipped = customer.token[:-1] + ("0" if customer.token[-1] != "0" else "1")
    refused(scene, operation, flipped, 401, "invalid_api_key")


@every_operation
def test_nobody_with_a_revoked_key_may(customer: Customer, services: Services, operation: Operation) -> None:
    scene = a_scene(customer, operation)
    revoked = customer.with_key()
    key = services.catalog.keys.of_account(customer.account.id)[0]
    services.catalog.keys.revoke(customer.account.id, key.id, now=datetime.now(UTC))
    refused(scene, operation, revoked.token, 401, "invalid_api_key")


@every_operation
def test_nobody_without_the_scope_may(customer: Customer, operation: Operation) -> None:
    scene = a_scene(customer, operation)
    others = set(SCOPES) - set(operation.scopes)
    refused(scene, operation, customer.with_key(*others).token, 403, "forbidden")


@every_operation
def test_nobody_of_an_account_that_is_not_served_may(
    customer: Customer, services: Services, operation: Operation
) -> None:
    scene = a_scene(customer, operation)
    services.catalog.accounts.update(customer.account.id, subscription_status="canceled")
    refused(scene, operation, customer.token, 402, "account_inactive")


# What a key meets that is restricted to another project; whatever is not here it may.
RESTRICTED = {"keys": (403, "forbidden"), "creation": (403, "forbidden"), "project": (404, "not_found")}


@every_operation
def test_key_restricted_to_another_project_stays_there(customer: Customer, operation: Operation) -> None:
    scene = a_scene(customer, operation)
    other = customer.a_project().rpartition("/")[2]
    restricted = customer.with_key(project_ids=(other,))
    if operation.subject in RESTRICTED:
        refused(scene, operation, restricted.token, *RESTRICTED[operation.subject])
    else:
        answer = scene.ask(operation, restricted.token)
        assert answer.status_code == 200
        assert scene.project_id not in answer.text


@every_operation
def test_objects_of_another_account_do_not_exist(
    customer: Customer, stranger: Customer, operation: Operation
) -> None:
    scene = a_scene(customer, operation)
    if "{" in operation.path:
        refused(scene, operation, stranger.token, 404, "not_found")
        return
    answer = scene.ask(operation, stranger.token)
    assert answer.status_code in {200, 201}
    for theirs in (customer.account.id, scene.project_id, scene.key_id):
        assert theirs not in answer.text


@pytest.mark.parametrize("operation", [one for one in WITH_KEY if "{" in one.path], ids=lambda one: one.name)
def test_another_accounts_object_is_as_one_that_does_not_exist(
    customer: Customer, stranger: Customer, operation: Operation
) -> None:
    scene = a_scene(customer, operation)
    nowhere = Scene(customer, *map(new_id, ("prj", "exp", "key", "run", "met", "mem", "whk")))

    def message_about(about: Scene) -> str:
        message: str = error_of(about.ask(operation, stranger.token), 404, "not_found")["message"]
        for id_ in about.ids():
            message = message.replace(id_, "…")
        return message

    assert message_about(scene) == message_about(nowhere)


@every_operation
def test_plain_member_may_do_all_but_manage_keys(
    customer: Customer, services: Services, operation: Operation
) -> None:
    scene = a_scene(customer, operation)
    member = services.catalog.members.add(customer.account.id, "ada@acme.example", "Ada", "member")
    _, token = services.catalog.keys.create(customer.account.id, member.id, "Ada's", SCOPES)
    if operation.subject == "keys":
        refused(scene, operation, token, 403, "forbidden")
    else:
        assert scene.ask(operation, token).status_code in {200, 201, 202, 204}
