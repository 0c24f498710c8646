"""Runs over the API: started once a key, carried out, listed, and gone with their project."""

from typing import Any

import pytest

from pipeline.store.catalog.runs import run_repository
from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of
from tests.api.shops import Shop


@pytest.fixture
def shop(customer: Customer, project: str, experiment: str) -> Shop:
    shop = Shop.opened_by(customer, project, experiment)
    shown = [shop.exposure(f"x{number}", visitor_id=f"v{number}") for number in range(3)]
    assert shop.post("/api/v1/sdk/track", {"batch": shown}).json()["rejected"] == 0
    return shop


def test_a_run_is_carried_out_and_says_what_it_counted(customer: Customer, project: str, shop: Shop) -> None:
    answer = customer.post(f"{project}/runs", {"kind": "rebuild"})
    assert answer.status_code == 202
    run = customer.ended_run(project, answer.json()["data"])
    assert (run["status"], run["trigger"], run["attempts"], run["error"]) == ("done", "api", 1, None)
    assert (run["events"], run["visitors"], run["drift"]) == (3, 3, [])
    assert run["result"] == {
        "recounted": [shop.experiment["id"]],
        "updated": [],
        "count": "whole",
        "reason": "asked",
        "why": "it was asked for",
    }
    answer = customer.post(f"{project}/runs", {"kind": "snapshot"})
    written = customer.ended_run(project, answer.json()["data"])
    assert (written["status"], written["events"]) == ("done", 3)


def test_the_same_key_is_the_same_run(customer: Customer, project: str) -> None:
    body = {
        "kind": "rebuild",
        "run_key": "dag 2026-11-20",
        "days": {"from": "2026-11-01", "to": "2026-11-20"},
    }
    first, second = (customer.post(f"{project}/runs", body).json()["data"] for _ in range(2))
    assert first["id"] == second["id"]
    assert first["days"] == body["days"]
    other = customer.post(f"{project}/runs", {"kind": "rollup", "run_key": "dag 2026-11-20"})
    error_of(other, 409, "idempotency_key_reused")
    assert customer.get(f"{project}/runs", kind="rebuild").json()["meta"]["total"] == 1


def test_runs_are_paged_and_narrowed(customer: Customer, project: str) -> None:
    started = [
        customer.post(f"{project}/runs", {"kind": kind}).json()["data"] for kind in ("rollup", "snapshot")
    ]
    for run in started:
        customer.ended_run(project, run)
    listed = customer.get(f"{project}/runs", per_page=1).json()
    assert ([run["id"] for run in listed["data"]], listed["meta"]["total"]) == ([started[1]["id"]], 2)
    narrowed = customer.get(f"{project}/runs", kind="rollup", status="done").json()["data"]
    assert [run["id"] for run in narrowed] == [started[0]["id"]]
    assert customer.get(f"{project}/runs", status="late").status_code == 422


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"kind"}),
        ({"kind": "import"}, {"kind"}),
        ({"kind": "rollup", "days": {"from": "2026-11-01", "to": "2026-11-02"}}, {"days"}),
        ({"kind": "rebuild", "days": {"from": "2026-11-02", "to": "2026-11-01"}}, {"days.to"}),
        ({"kind": "rebuild", "days": {"from": "yesterday", "to": "20261101"}}, {"days.from", "days.to"}),
        ({"kind": "rebuild", "night": 1}, {"night"}),
    ],
)
def test_a_run_that_makes_no_sense_is_refused_by_field(
    customer: Customer, project: str, body: dict[str, Any], fields: set[str]
) -> None:
    refused = customer.post(f"{project}/runs", body)
    assert set(fields_of(error_of(refused, 422, "validation_error"))) == fields
    assert customer.get(f"{project}/runs").json()["meta"]["total"] == 0


def test_runs_need_their_scopes_and_are_no_strangers_business(
    customer: Customer, stranger: Customer, project: str
) -> None:
    reader, writer = customer.with_key("results:read"), customer.with_key("projects:write")
    assert reader.post(f"{project}/runs", {"kind": "rollup"}).status_code == 403
    assert writer.get(f"{project}/runs").status_code == 403
    run = writer.post(f"{project}/runs", {"kind": "rollup"}).json()["data"]
    assert reader.get(f"{project}/runs/{run['id']}").status_code == 200
    assert stranger.get(f"{project}/runs/{run['id']}").status_code == 404
    assert stranger.get(f"{project}/runs").status_code == 404
    assert stranger.post(f"{project}/runs", {"kind": "rollup"}).status_code == 404
    other = stranger.a_project()
    assert stranger.get(f"{other}/runs/{run['id']}").status_code == 404


def test_a_queue_that_is_full_is_429(
    customer: Customer, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_repository, "MOST_QUEUED_OF_PROJECT", 0)
    refused = customer.post(f"{project}/runs", {"kind": "rollup"})
    error_of(refused, 429, "rate_limited")
    assert int(refused.headers["Retry-After"]) > 0
    monkeypatch.undo()
    monkeypatch.setattr(run_repository, "MOST_QUEUED_OF_ACCOUNT", 0)
    error_of(customer.post(f"{project}/runs", {"kind": "rollup"}), 429, "rate_limited")
