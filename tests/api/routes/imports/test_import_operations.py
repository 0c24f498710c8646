"""Imports over the API: files and described sources become runs, whatever comes in between."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from api.services import Services
from pipeline.store.catalog.errors import CatalogBusyError
from tests.api.customers import Customer
from tests.api.described_sources import describe_source
from tests.api.request_bodies import error_of
from tests.api.routes.imports.import_files import VISITORS, content_of, rows_of, send, uploads, wrong_fields
from tests.waiting import wait_until


def test_a_file_is_imported_once_and_grows(customer: Customer, project: str, services: Services) -> None:
    run = send(customer, project, content_of(rows_of(90)), name="Visits")
    assert (run["kind"], run["status"], run["source"], run["error"]) == ("import", "done", "file", None)
    assert run["result"]["rows"] == {
        "read": 90,
        "new": 90,
        "already_there": 0,
        "rejected": 0,
        "left_out": 0,
        "of_known_visitors": 0,
        "at_repeated_times": 0,
    }
    assert run["events"] == 150
    (experiment,) = customer.get(f"{project}/experiments").json()["data"]
    assert run["result"]["experiment_ids"] == [experiment["id"]]
    results = customer.data_of(f"{project}/experiments/{experiment['id']}/results")
    counted = results["variants"][results["goals"][0]["id"]]
    assert [(one["visitors"], one["conversions"]) for one in counted] == [(45, 15), (45, 15)]
    grown = send(customer, project, content_of(rows_of(100), "parquet"), "parquet", name="Visits")
    assert (grown["result"]["rows"]["new"], grown["result"]["rows"]["already_there"]) == (10, 90)
    assert grown["progress"]["stage"] == "storing"
    assert uploads(services, project) == []
    listed = customer.get(f"{project}/runs", kind="import").json()["data"]
    assert [one["id"] for one in listed] == [grown["id"], run["id"]]


def test_a_file_with_accounts_is_compared_by_account(customer: Customer, project: str) -> None:
    rows = rows_of(240).with_columns(store=pl.int_range(240) // 2 % 30, page=pl.lit("A"))
    rows = rows.with_columns(page=pl.when(pl.col("store") % 2 == 1).then(pl.lit("B")).otherwise(pl.lit("A")))
    run = send(customer, project, content_of(rows), name="Stores", unit="store")
    (experiment,) = run["result"]["experiment_ids"]
    found = customer.data_of(f"{project}/experiments/{experiment}")
    assert found["unit"] == {"attribute": "store"}
    results = customer.data_of(f"{project}/experiments/{experiment}/results")
    counted = results["variants"][results["goals"][0]["id"]]
    assert [(one["visitors"], one["units"]) for one in counted] == [(120, 15), (120, 15)]
    assert (results["plan"]["units"], results["plan"]["collected_visitors"]) == (30, 240)
    assert results["plan"]["design_effect"] > 0
    assert results["plan"]["intra_class_correlation"] >= 0
    segments = customer.data_of(f"{project}/experiments/{experiment}/results/segments")
    assert [one for goal in segments["goals"] for one in goal["segments"]] == []
    assert {one["reason"] for one in segments["left_out"]} == {
        "variants are compared by store, not by visitor: filter results by one segment instead"
    }
    lines = customer.get(
        f"{project}/experiments/{experiment}/results/export", format="ndjson"
    ).text.splitlines()
    assert sorted({json.loads(line)["unit"] for line in lines}, key=int) == [str(one) for one in range(30)]
    refused = customer.call(
        "POST",
        f"{project}/imports",
        content=content_of(rows.rename({"store": "country"})),
        params={**VISITORS, "unit": "country"},
        headers={"Content-Type": "text/csv"},
    )
    assert wrong_fields(refused) == {"unit"}


def test_rejected_rows_have_their_line_and_reason(customer: Customer, project: str) -> None:
    text = "id,page,bought,spend\nv1,A,1,2\nv2,B,maybe,2\nv3,B,0,2\nv4,B,1,2,3\n"
    run = send(customer, project, text.encode(), file_name="visits.csv")
    assert sorted(run["result"]["rejected_rows"], key=lambda row: row["line"]) == [
        {
            "line": 3,
            "reason": "'bought' is neither 1 nor 0 (true or false, yes or no)",
            "table": "visits.csv",
        },
        {"line": 5, "reason": "has 5 fields where the header has 4", "table": "visits.csv"},
    ]


def test_events_since_2000_are_imported(customer: Customer, project: str) -> None:
    text = "type,visitor_id,event_name,timestamp\ncustom_event,v1,order,2000-01-01T00:00:00Z\n"
    # A file of events has seconds since 1970 as well as milliseconds.
    text += "custom_event,v2,order,1767225600\ncustom_event,v2,order,1767225600000\n"
    text += "custom_event,v3,order,1999-12-31T23:59:59Z\ncustom_event,v3,order,2127-01-01T00:00:00Z\n"
    answer = customer.call("POST", f"{project}/imports", content=text, headers={"Content-Type": "text/csv"})
    run = customer.ended_run(project, answer.json()["data"])
    # The two times are one, and so are the events.
    assert (run["status"], run["result"]["events"]) == ("done", {"new": 3, "already_there": 0})
    assert {row["line"]: row["reason"] for row in run["result"]["rejected_rows"]} == {
        5: "invalid_timestamp: 'timestamp' is a time of 1999, before 2000",
        6: "invalid_timestamp: 'timestamp' is a time of 2127, more than a year ahead",
    }


def test_events_are_taken_while_a_file_is_imported(
    customer: Customer, project: str, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_now = services.ingest.write_now
    statuses: list[int] = []

    def write_and_track(project_id: str, table: pl.DataFrame) -> None:
        write_now(project_id, table)
        event = {"event_id": "e", "type": "pageview", "visitor_id": "v", "url": "https://shop.example"}
        answer = customer.post(f"/sdk/track?project_id={project_id}", {"batch": [event]})
        statuses.append(answer.status_code)
        queued = customer.post(f"{project}/runs", {"kind": "rollup"}).json()["data"]
        assert customer.data_of(f"{project}/runs/{queued['id']}")["status"] == "queued"

    monkeypatch.setattr(services.ingest, "write_now", write_and_track)
    assert send(customer, project, content_of(rows_of(20)))["status"] == "done"
    assert statuses == [200]


def test_the_same_request_again_is_the_same_run(customer: Customer, project: str, services: Services) -> None:
    def ask(content: bytes, **headers: str) -> Any:
        return customer.call(
            "POST",
            f"{project}/imports",
            content=content,
            params={**VISITORS, "run_key": "monday"},
            headers={"Content-Type": "text/csv", **headers},
        )

    content = content_of(rows_of(10))
    first, again = ask(content).json()["data"], ask(content).json()["data"]
    assert first["id"] == again["id"]
    customer.ended_run(project, first)
    error_of(ask(content + b"v99,A,1,2\n"), 409, "idempotency_key_reused")
    replayed = [ask(content, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert replayed[1].headers["Idempotent-Replayed"] == "true"
    error_of(ask(content + b"v98,A,1,2\n", **{"Idempotency-Key": "k"}), 409, "idempotency_key_reused")
    wait_until(lambda: uploads(services, project) == [])


def test_a_described_source_is_imported_by_its_name(
    customer: Customer, project: str, services: Services, tmp_path: Path
) -> None:
    rows_of(30).write_parquet(tmp_path / "visits.parquet")
    describe_source(services, "visits", project.rpartition("/")[2], tmp_path / "visits.parquet")
    answer = customer.post(f"{project}/imports", {"source": "visits"})
    run = customer.ended_run(project, answer.json()["data"])
    assert (run["status"], run["source"], run["result"]["rows"]["new"]) == ("done", "visits", 30)
    assert run["result"]["watermark"]["rows"] == 30


def test_the_file_of_a_run_that_is_not_committed_goes(
    customer: Customer, project: str, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_named: object) -> None:
        raise CatalogBusyError("busy")

    monkeypatch.setattr(type(services.catalog.idempotency_keys), "keep", fail)
    refused = customer.call(
        "POST",
        f"{project}/imports",
        content=content_of(rows_of(10)),
        params=VISITORS,
        headers={"Content-Type": "text/csv", "Idempotency-Key": "lost"},
    )
    error_of(refused, 503, "unavailable")
    wait_until(lambda: uploads(services, project) == [])
    assert customer.get(f"{project}/runs").json()["data"] == []
