"""The audit trail: who changed what, without secrets, for owners and admins only."""

from pathlib import Path
from typing import Any, get_args

from api.schemas.account import SUBJECTS, SubjectType
from api.services import Services
from pipeline.encryption_key import operator_token
from pipeline.store.catalog.audit import record
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer
from tests.api.request_bodies import error_of

AUDIT = "/account/audit"


def entries(customer: Customer, **query: Any) -> list[dict[str, Any]]:
    answer = customer.get(AUDIT, **query)
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def test_the_life_of_an_experiment_is_told_newest_first(customer: Customer, experiment: str) -> None:
    id_ = experiment.rpartition("/")[2]
    customer.call("PATCH", experiment, json={"name": "Renamed"})
    customer.post(f"{experiment}/start")
    started, renamed, created = entries(customer, subject_id=id_)
    assert [one["action"] for one in (started, renamed, created)] == ["changed", "changed", "created"]
    assert started["changes"]["status"] == ["draft", "running"]
    assert renamed["changes"]["name"][1] == "Renamed"
    assert {one["subject_type"] for one in (started, renamed, created)} == {"experiment"}
    key = next(
        one for one in customer.get("/account/api_keys").json()["data"] if one["id"] == started["actor"]
    )
    assert started["actor_name"] == key["name"]


def test_keys_and_members_are_told_without_secrets(customer: Customer, services: Services) -> None:
    issued = customer.post("/account/api_keys", {"name": "CI", "scopes": ["projects:read"]}).json()["data"]
    customer.post(f"/account/api_keys/{issued['api_key']['id']}/revoke")
    member = services.catalog.members.add(customer.account.id, "mia@acme.example", "Mia", "member")
    services.catalog.members.remove(customer.account.id, member.id)
    revoked, created = entries(customer, subject_id=issued["api_key"]["id"])
    assert (created["action"], created["changes"]["name"]) == ("created", [None, "CI"])
    assert revoked["changes"]["revoked_at"][0] is None
    removed, added = entries(customer, subject_id=member.id)
    assert (added["action"], removed["action"]) == ("created", "deleted")
    assert added["changes"]["email_address"] == [None, "mia@acme.example"]
    text = customer.get(AUDIT, per_page=100).text
    assert issued["token"].rpartition("_")[2] not in text
    assert "digest" not in text
    assert "token_id" not in text


def test_fields_that_nobody_listed_are_not_shown(customer: Customer, services: Services) -> None:
    with services.catalog.audit._database.write() as connection:  # noqa: SLF001 - as a later column would be
        record(
            connection,
            customer.account.id,
            "job",
            "prj_x",
            {"password": [None, "hunter2"], "name": ["A", "B"]},
        )
        record(connection, customer.account.id, "job", "new_x", {"name": ["A", "B"]})
    (known,) = entries(customer, subject_id="prj_x")
    assert known["changes"] == {"name": ["A", "B"]}
    (unknown,) = entries(customer, subject_id="new_x")
    assert (unknown["changes"], unknown["actor_name"]) == ({}, None)


def test_entries_are_paged_and_those_of_the_account(
    customer: Customer, stranger: Customer, experiment: str
) -> None:
    answer = customer.get(AUDIT, per_page=2).json()
    assert len(answer["data"]) == 2
    assert answer["meta"] == {"page": 1, "per_page": 2, "total": len(entries(customer, per_page=100))}
    again = entries(customer, per_page=2, page=2)
    assert {one["id"] for one in again}.isdisjoint(one["id"] for one in answer["data"])
    times = [one["at"] for one in entries(customer, per_page=100)]
    assert times == sorted(times, reverse=True)
    assert entries(stranger, subject_id=experiment.rpartition("/")[2]) == []


def test_others_do_not_read_it(customer: Customer, services: Services, project: str) -> None:
    error_of(customer.with_key("projects:read").get(AUDIT), 403, "forbidden")
    restricted = customer.with_key(project_ids=(project.rpartition("/")[2],))
    error_of(restricted.get(AUDIT), 403, "forbidden")
    member = services.catalog.members.add(customer.account.id, "max@acme.example", "Max", "member")
    _, token = services.catalog.keys.create(customer.account.id, member.id, "Max's", SCOPES)
    plain = Customer(customer.client, services, customer.account, token)
    error_of(plain.get(AUDIT), 403, "forbidden")
    assert plain.get("/account").status_code == 200


def test_who_asked_for_a_run_is_told_once(customer: Customer, project: str) -> None:
    body = {"kind": "rollup", "run_key": "night"}
    run = customer.post(f"{project}/runs", body).json()["data"]
    assert customer.post(f"{project}/runs", body).json()["data"]["id"] == run["id"]
    (entry,) = entries(customer, subject_id=run["id"])
    assert (entry["action"], entry["subject_type"], entry["actor_name"]) == ("created", "run", "First key")
    assert entry["changes"] == {"project_id": [None, project.rpartition("/")[2]], "kind": [None, "rollup"]}


def test_who_asked_for_an_import_is_told(customer: Customer, project: str) -> None:
    path = f"{project}/imports?visitor=id&variant=arm&control=a&goals=bought&name=Test"
    file = b"id,arm,bought\nv1,a,1\n"
    answer = customer.call("POST", path, content=file, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 202, answer.text
    (entry,) = entries(customer, subject_id=answer.json()["data"]["id"])
    assert entry["changes"]["kind"] == [None, "import"]


def test_a_sign_in_to_the_dashboard_is_told(customer: Customer) -> None:
    customer.client.post("/sign-in", data={"key": customer.token}, follow_redirects=False)
    customer.client.cookies.clear()
    newest = entries(customer)[0]
    assert (newest["action"], newest["subject_type"]) == ("created", "session")
    assert newest["changes"] == {"key_id": [None, newest["actor"]]}
    customer.client.post("/sign-in", data={"key": "nonsense"}, follow_redirects=False)
    assert entries(customer)[0] == newest


def test_exports_are_told_over_the_api_and_on_the_dashboard(customer: Customer, experiment: str) -> None:
    id_ = experiment.rpartition("/")[2]
    customer.post(f"{experiment}/start")
    assert customer.get(f"{experiment}/results/export", format="csv").status_code == 200
    error_of(customer.get(f"{experiment}/results/export", format="xls"), 422, "validation_error")
    customer.client.post("/sign-in", data={"key": customer.token}, follow_redirects=False)
    page = customer.client.get(f"{experiment}/export?format=parquet")
    trail = customer.client.get(f"/account/audit?subject_id={id_}").text
    customer.client.cookies.clear()
    assert page.status_code == 200
    second, first = entries(customer, subject_id=id_)[:2]
    assert [one["action"] for one in (first, second)] == ["exported", "exported"]
    assert {one["actor_name"] for one in (first, second)} == {"First key"}
    assert [one["changes"] for one in (first, second)] == [
        {"exported": [None, "csv"]},
        {"exported": [None, "parquet"]},
    ]
    assert "exported experiment" in trail
    assert "parquet" in trail


def test_a_test_of_a_webhook_is_told_once(customer: Customer, project: str) -> None:
    webhook = customer.a_webhook(project)
    once = {"Idempotency-Key": "test it"}
    sent = [customer.call("POST", f"{webhook}/test", headers=once).json() for _ in range(2)]
    newest, created = entries(customer, subject_id=webhook.rpartition("/")[2])
    assert (newest["action"], newest["subject_type"], newest["actor_name"]) == (
        "tested",
        "webhook",
        "First key",
    )
    assert newest["changes"] == {"tested": [None, sent[0]["data"]["id"]]}
    assert created["action"] == "created"


def test_a_backup_is_told_to_every_account(
    customer: Customer, stranger: Customer, services: Services, tmp_path: Path
) -> None:
    headers = {"Authorization": f"Bearer {operator_token(services.settings)}"}
    body = {"folder": str(tmp_path / "backup")}
    made = customer.client.post("/operator/backups", json=body, headers=headers)
    assert made.status_code == 200, made.text
    for account in (customer, stranger):
        newest = entries(account)[0]
        assert (newest["action"], newest["subject_type"], newest["actor"]) == (
            "backed_up",
            "account",
            "command line",
        )
        assert newest["changes"]["backed_up"][1].startswith(made.json()["data"]["taken_at"][:19])
        # Where it is stored is the operator's business.
        assert str(tmp_path) not in account.get(AUDIT).text


def test_entries_are_found_by_who_what_when_and_project(customer: Customer, experiment: str) -> None:
    project, _, id_ = experiment.partition("/experiments/")
    other = customer.a_project()
    customer.an_experiment(other)
    metric = customer.a_metric(project).rpartition("/")[2]
    second = customer.with_key()
    assert second.patch(experiment, {"name": "Renamed"}).status_code == 200
    assert second.call("DELETE", f"{project}/metrics/{metric}").status_code == 204
    project_id = project.rpartition("/")[2]
    of_project = entries(customer, project_id=project_id)
    # What was deleted is found, too, and what belongs to another project is not.
    assert {one["subject_id"] for one in of_project} >= {project_id, id_, metric}
    assert not any(other.rpartition("/")[2] in str(one) for one in of_project)
    actor = of_project[0]["actor"]
    mine = entries(customer, actor=actor)
    assert [(one["action"], one["subject_type"]) for one in mine] == [
        ("deleted", "metric"),
        ("changed", "experiment"),
    ]
    for action in ("created", "changed", "deleted", "exported", "refused"):
        every = [one for one in entries(customer, per_page=100) if one["action"] == action]
        assert entries(customer, action=action, per_page=100) == every, action
    assert {one["subject_type"] for one in entries(customer, subject_type="metric")} == {"metric"}
    at = mine[1]["at"]
    assert mine[1] in entries(customer, since=at)
    assert not any(one["at"] >= at for one in entries(customer, until=at))
    assert entries(customer, project_id="prj_%") == []


def test_every_kind_of_subject_can_be_asked_for() -> None:
    assert set(get_args(SubjectType)) == {name for name, _ in SUBJECTS.values()}


def test_a_group_is_audited_by_its_name(customer: Customer, project: str) -> None:
    customer.patch(customer.a_group(project), {"name": "Cart"})
    renamed, created = entries(customer, subject_type="group")
    assert renamed["changes"] == {"name": ["Checkout pages", "Cart"]}
    assert created["changes"]["name"] == [None, "Checkout pages"]


def test_filters_that_mean_nothing_are_refused(customer: Customer) -> None:
    for query in (
        {"action": "burnt"},
        {"subject_type": "fax"},
        {"since": "yesterday"},
        {"until": "0.5"},
        {"page": 0},
    ):
        error_of(customer.get(AUDIT, **query), 422, "validation_error")
    twice = customer.call("GET", f"{AUDIT}?actor=a&actor=b")
    error_of(twice, 422, "validation_error")
