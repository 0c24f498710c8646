"""Permissions of every operation: scopes, restricted keys and other accounts."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, or_, select

from api.services import Services
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.keys import SCOPES
from pipeline.store.catalog.refused_keys import ACTOR
from pipeline.store.catalog.runs.run_record import Run
from pipeline.store.catalog.schema import audit, job_records, metadata, runs
from tests import contract
from tests.api.customers import Customer, a_customer
from tests.api.described_sources import describe_source
from tests.api.handed_in_sums import sums_request
from tests.api.operations import MORE_OPERATIONS, OPERATIONS, STEPS, Operation
from tests.api.request_bodies import error_of
from tests.builders import NOW

# Tables in which jobs record something of other tests' projects meanwhile.
RECORDED_MEANWHILE = {"runs", "announced_results", "audit", "deliveries", "recorded_looks", "kept_verdicts"}
# A job writes once a minute which keys were refused, and others have runs by their schedules.
OF_REQUESTS = {audit: [audit.c.actor != ACTOR], runs: [runs.c.trigger != "schedule"]}
WITH_KEY = [one for one in (*OPERATIONS, *MORE_OPERATIONS) if one.subject != "nothing"]
every_operation = pytest.mark.parametrize("operation", WITH_KEY, ids=lambda one: one.name)
# Refusals are decided before the database is asked for more than keys and members: one operation of each
# subject shows them on the other database.
ON_EVERY_DATABASE = {one.subject: one for one in reversed(WITH_KEY)}.values()


def each(*operations: Operation) -> pytest.MarkDecorator:
    """Run a test for each of the operations, for most of them with one database."""
    parameters = [
        pytest.param(one, marks=() if one in ON_EVERY_DATABASE else pytest.mark.only_on("sqlite"))
        for one in operations
    ]
    return pytest.mark.parametrize("operation", parameters, ids=lambda one: one.name)


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
    channel_id: str
    link_id: str
    group_id: str
    holdout_id: str

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all of them."""
        resources = (self.project_id, self.experiment_id, self.run_id, self.metric_id)
        return (
            *resources,
            self.key_id,
            self.member_id,
            self.webhook_id,
            self.channel_id,
            self.link_id,
            self.group_id,
            self.holdout_id,
        )

    def ask(self, operation: Operation, token: str | None) -> httpx2.Response:
        """Call an operation on these objects with a token."""
        about_key, about_project = "/api_keys/" in operation.path, "{project_id}" not in operation.path
        id_ = self.key_id if about_key else self.project_id if about_project else self.experiment_id
        id_ = self.run_id if "/runs/" in operation.path else id_
        id_ = self.metric_id if "/metrics/" in operation.path else id_
        id_ = self.group_id if "/groups/" in operation.path else id_
        id_ = self.holdout_id if "/holdouts/" in operation.path else id_
        id_ = self.member_id if "/members/" in operation.path else id_
        id_ = self.webhook_id if "/webhooks/" in operation.path else id_
        id_ = self.channel_id if "/notification_channels/" in operation.path else id_
        path = operation.path.format(
            project_id=self.project_id, id=id_, visitor_id="nobody", link_id=self.link_id
        )
        sent: dict[str, Any] = self._sums() if operation.takes_sums else {"json": operation.body}
        key = {} if token is None else {"Authorization": f"Bearer {token}"}
        sent["headers"] = sent.get("headers", {}) | key
        return self.customer.client.request(operation.method, path, **sent)

    def _sums(self) -> dict[str, Any]:
        catalog = self.customer.services.catalog
        found = catalog.experiments.with_ids(self.project_id, [self.experiment_id])
        if not found:
            return sums_request(None)
        return sums_request(
            found[0], fingerprint(found[0], CountingRules.of(catalog.projects.find(self.project_id)))
        )

    def member_key(self, scopes: Collection[str]) -> str:
        """Return a new key of a plain member."""
        catalog, account_id = self.customer.services.catalog, self.customer.account.id
        member = catalog.members.add(account_id, f"{new_id('mem')}@acme.example", "Ada", "member")
        return catalog.keys.create(account_id, member.id, "Ada's", sorted(scopes))[1]


def kept(*scenes: Scene) -> dict[str, Any]:
    """Return the rows of the scenes' accounts without the last use of keys, and the total number of rows."""
    own = {
        "account_id": [scene.customer.account.id for scene in scenes],
        "project_id": [scene.project_id for scene in scenes],
    }
    stored: dict[str, Any] = {}
    with scenes[0].customer.services.catalog.database.read() as connection:
        # When each project had its jobs is of no operation.
        for table in (one for one in metadata.sorted_tables if one is not job_records):
            columns = [column for column in table.c if column.name != "last_used_at"]
            mine = [table.c[name].in_(values) for name, values in own.items() if name in table.c]
            rows = connection.execute(select(*columns).where(or_(False, *mine), *OF_REQUESTS.get(table, ())))
            count = connection.scalar(select(func.count()).select_from(table))
            total = None if table.name in RECORDED_MEANWHILE else count
            stored[table.name] = (total, sorted(map(repr, rows)))
    return stored


def a_scene(customer: Customer, operation: Operation) -> Scene:
    project = customer.a_project()
    is_reviewed = operation.status == "reviewed"
    experiment = customer.a_reviewed_draft(project) if is_reviewed else customer.an_experiment(project)
    for step in STEPS[operation.status]:
        customer.ship(experiment) if step == "ship" else customer.post(f"{experiment}/{step}")
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
    channel_id = customer.a_channel(project).rpartition("/")[2]
    link_id = customer.post(f"{experiment}/share_links").json()["data"]["share_link"]["id"]
    group_id = customer.a_group(project).rpartition("/")[2]
    holdout = customer.a_holdout(project)
    # One in force cannot be deleted, and there can be no other.
    customer.patch(holdout, {"to": NOW.isoformat()})
    ids = (key.id, run.id, metric_id, member.id, webhook_id, channel_id, link_id, group_id)
    return Scene(customer, project_id, experiment_id, *ids, holdout.rpartition("/")[2])


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


@pytest.fixture(scope="module")
def paths(client: TestClient) -> dict[str, Any]:
    """The paths of the description."""
    described: dict[str, Any] = client.get("/openapi.json").json()["paths"]
    return described


@every_operation
def test_described_scopes_are_those_that_are_needed(paths: dict[str, Any], operation: Operation) -> None:
    described = paths[operation.path][operation.method.lower()]
    assert described["security"] == [{"bearer": [scope]} for scope in operation.scopes]


@pytest.fixture(scope="module")
def read_only(client: TestClient, services: Services) -> Scene:
    """A scene for all operations that change nothing."""
    return a_scene(a_customer(client, services), WITH_KEY[0])


@every_operation
def test_key_with_just_the_scope_may(customer: Customer, read_only: Scene, operation: Operation) -> None:
    """A plain member may do all but manage keys, for which the owner's key is taken."""
    assert operation.scopes
    for scope in operation.scopes:
        scene = read_only if operation.method == "GET" else a_scene(customer, operation)
        # No key can grant a scope that it lacks itself.
        granting = (
            {"projects:read"} if operation.body == {"name": "CI", "scopes": ["projects:read"]} else set()
        )
        scopes = {scope, *operation.besides, *granting}
        owner = scene.customer.with_key(*scopes).token
        token = owner if operation.subject == "keys" else scene.member_key(scopes)
        answer = scene.ask(operation, token)
        assert answer.status_code in {200, 201, 202, 204}, answer.text


# What a key meets that is restricted to another project; whatever is not here it may.
RESTRICTED = {"keys": (403, "forbidden"), "creation": (403, "forbidden"), "project": (404, "not_found")}


@dataclass(frozen=True, slots=True)
class Refusals:
    """Two scenes for all operations, since what is refused changes nothing, and keys to the first one."""

    scene: Scene
    inactive: Scene
    useless: dict[str, str | None]
    without: dict[tuple[str, ...], str]
    restricted: str
    of_member: str
    of_stranger: str

    def of(self, operation: Operation) -> Iterator[tuple[str | None, int, str]]:
        """Yield each key that may not call the operation, with the status and code that it gets."""
        for token in self.useless.values():
            yield token, 401, "invalid_api_key"
        yield self.without[operation.scopes], 403, "forbidden"
        if operation.subject in RESTRICTED:
            yield self.restricted, *RESTRICTED[operation.subject]
        if operation.subject == "keys":
            yield self.of_member, 403, "forbidden"
        if "{" in operation.path:
            yield self.of_stranger, 404, "not_found"


@pytest.fixture(scope="module")
def refusals(client: TestClient, services: Services) -> Refusals:
    customer, inactive, stranger = (a_customer(client, services) for _ in range(3))
    for one in (customer, inactive, stranger):
        services.catalog.accounts.update(one.account.id, rate_limit=10**6)
    scene, refused = (a_scene(one, WITH_KEY[0]) for one in (customer, inactive))
    services.catalog.accounts.update(inactive.account.id, subscription_status="canceled")
    revoked = customer.with_key()
    key = services.catalog.keys.of_account(customer.account.id)[0]
    services.catalog.keys.revoke(customer.account.id, key.id, now=datetime.now(UTC))
    other = customer.a_project().rpartition("/")[2]
    wrong = customer.token[:-1] + ("0" if customer.token[-1] != "0" else "1")
    return Refusals(
        scene=scene,
        inactive=refused,
        useless={"none": None, "wrong": wrong, "revoked": revoked.token},
        without={
            scopes: customer.with_key(*set(SCOPES) - set(scopes)).token
            for scopes in {one.scopes for one in WITH_KEY}
        },
        restricted=customer.with_key(project_ids=(other,)).token,
        of_member=scene.member_key(SCOPES),
        of_stranger=stranger.token,
    )


@each(*WITH_KEY)
def test_keys_that_may_not_are_refused_and_change_nothing(refusals: Refusals, operation: Operation) -> None:
    scenes = refusals.scene, refusals.inactive
    before = kept(*scenes)
    refused = list(refusals.of(operation))
    assert len(refused) >= 4
    for token, status, code in refused:
        error_of(refusals.scene.ask(operation, token), status, code)
    error_of(refusals.inactive.ask(operation, refusals.inactive.customer.token), 402, "account_inactive")
    # None of them changed anything; a search after each would take most of the time.
    assert kept(*scenes) == before


@each(*(one for one in WITH_KEY if one.subject not in RESTRICTED))
def test_key_restricted_to_another_project_sees_nothing_of_this_one(
    customer: Customer, operation: Operation
) -> None:
    scene = a_scene(customer, operation)
    other = customer.a_project().rpartition("/")[2]
    answer = scene.ask(operation, customer.with_key(project_ids=(other,)).token)
    assert answer.status_code == 200
    assert scene.project_id not in answer.text


@each(*(one for one in WITH_KEY if "{" not in one.path))
def test_another_account_sees_nothing_of_this_one(
    customer: Customer, stranger: Customer, operation: Operation
) -> None:
    scene = a_scene(customer, operation)
    answer = scene.ask(operation, stranger.token)
    assert answer.status_code in {200, 201}
    for theirs in (customer.account.id, scene.project_id, scene.key_id):
        assert theirs not in answer.text


@each(*(one for one in WITH_KEY if "{" in one.path))
def test_another_accounts_object_is_as_one_that_does_not_exist(
    refusals: Refusals, operation: Operation
) -> None:
    scene = refusals.scene
    prefixes = ("prj", "exp", "key", "run", "met", "mem", "whk", "chn", "shr", "grp", "hld")
    nowhere = Scene(scene.customer, *map(new_id, prefixes))

    def message_about(about: Scene) -> str:
        message: str = error_of(about.ask(operation, refusals.of_stranger), 404, "not_found")["message"]
        for id_ in about.ids():
            message = message.replace(id_, "…")
        return message

    assert message_about(scene) == message_about(nowhere)
