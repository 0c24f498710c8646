"""Sums that were counted outside, over the API: results say what was handed in, and name who counted it."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import polars as pl
import pytest

from api.services import Services
from pipeline.results.outside.sums_file import MOST_BYTES
from tests.api.customers import Customer
from tests.api.handed_in_sums import sums_request
from tests.api.request_bodies import error_of
from tests.api.routes.imports.import_files import content_of, rows_of, send
from tests.api.shops import Shop


@pytest.fixture
def running(customer: Customer, experiment: str) -> str:
    customer.post(f"{experiment}/start")
    return experiment


def request_of(customer: Customer, path: str, **numbers: int) -> dict[str, Any]:
    """Build a request as a program does that has asked what to count by."""
    experiment = customer.services.catalog.experiments.get(path.split("/")[2], path.rpartition("/")[2])
    return sums_request(experiment, customer.data_of(f"{path}/sums")["fingerprint"], **numbers)


def hand_in(customer: Customer, path: str, request: dict[str, Any]) -> httpx2.Response:
    return customer.call("POST", f"{path}/sums", **request)


def test_results_are_those_of_the_sums_and_name_their_source(customer: Customer, running: str) -> None:
    assert customer.data_of(f"{running}/results")["sums_from"] is None
    request = request_of(customer, running)
    answer = hand_in(customer, running, request)
    assert answer.status_code == 200, answer.text
    found = answer.json()["data"]
    assert (found["sums_from"], found["is_changed"], found["is_final"]) == ("lake", True, False)
    assert not hand_in(customer, running, request).json()["data"]["is_changed"]
    assert customer.data_of(f"{running}/sums") == {
        key: value for key, value in found.items() if key != "is_changed"
    }
    results = customer.data_of(f"{running}/results")
    assert results["sums_from"] == "lake"
    assert datetime.fromisoformat(results["as_of"]) == datetime.fromisoformat(request["params"]["watermark"])
    of_primary = results["variants"][results["goals"][0]["id"]]
    assert [(one["visitors"], one["conversions"]) for one in of_primary] == [(100, 20)] * 2
    assert results["available_segments"]["device_types"] == ["mobile"]
    # 100 and 100 visitors are an even split.
    assert {one["check"]: one["status"] for one in results["health"]}["sample_ratio"] == "ok"
    mobile = customer.get(f"{running}/results", device_type="mobile").json()["data"]
    assert [one["visitors"] for one in mobile["variants"][results["goals"][0]["id"]]] == [50, 50]
    segments = customer.data_of(f"{running}/results/segments")
    assert {one["value"] for one in segments["goals"][0]["segments"]} == {"mobile"}
    assert {one["reason"] for one in segments["left_out"]} == {"the sums of lake are not split by it"}
    days = customer.get(f"{running}/results/timeseries").json()["data"]
    assert sum(one["visitors"] for day in days for one in day["variants"].values()) == 200
    trail = customer.services.catalog.audit.of(running.rpartition("/")[2])
    assert [one.changes["sums_from"] for one in trail if "sums_from" in one.changes] == [[None, "lake"]]


def test_what_needs_visitors_says_so(customer: Customer, running: str, project: str) -> None:
    hand_in(customer, running, request_of(customer, running))
    refused = error_of(customer.get(f"{running}/results/export"), 422, "needs_visitors")
    assert "lake hands in their sums alone" in refused["message"]
    wrong = error_of(customer.get(f"{running}/results", country="DE"), 422, "validation_error")
    assert wrong["details"] == [
        {
            "field": "country",
            "message": "the sums of lake are not split by it; those that they are split by: device_type",
        }
    ]
    stats = customer.data_of(f"{project}/stats")
    assert (stats["total_visitors"], stats["experiments_counted_outside"]) == (0, 1)


def test_rows_of_visitors_do_not_add_to_sums(customer: Customer, project: str) -> None:
    content = content_of(rows_of(20))
    run = send(customer, project, content, name="Visits")
    experiment = f"{project}/experiments/{run['result']['experiment_ids'][0]}"
    request = request_of(customer, experiment)
    request["params"]["take_over"] = "true"
    assert hand_in(customer, experiment, request).status_code == 200
    again = send(customer, project, content_of(rows_of(30)), name="Visits")
    assert again["status"] == "failed"
    assert "the visitors of 'Visits' are counted by lake, which hands in their sums" in again["error"]


def test_sums_do_not_mix_with_events_of_this_service(
    customer: Customer, project: str, experiment: str
) -> None:
    shop = Shop.opened_by(customer, project, experiment)
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("x1", visitor_id="v1")]})
    assert customer.data_of(f"{experiment}/results")["as_of"]
    request = request_of(customer, experiment)
    refused = error_of(hand_in(customer, experiment, request), 422, "counted_here")
    assert "take_over" in refused["message"]
    request["params"]["take_over"] = "true"
    assert hand_in(customer, experiment, request).json()["data"]["sums_from"] == "lake"
    # The service goes on collecting, and counts none of it here.
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("x2", visitor_id="v2")]})
    results = customer.data_of(f"{experiment}/results")
    assert sum(one["visitors"] for one in results["variants"][results["goals"][0]["id"]]) == 200


def test_bodies_that_are_no_sums_are_refused(customer: Customer, running: str) -> None:
    request = request_of(customer, running)
    assert request["content"]

    def refused(status: int, code: str, **changes: Any) -> dict[str, Any]:
        return error_of(hand_in(customer, running, {**request, **changes}), status, code)

    refused(415, "unsupported_media_type", headers={"Content-Type": "text/csv"})
    assert refused(422, "validation_error", content=b"PAR1")["details"][0]["field"] == "body"
    refused(413, "payload_too_large", content=b"0" * (MOST_BYTES + 1))
    other = io.BytesIO()
    pl.DataFrame({"visitors": [1], "kind_of_row": ["cell"], "shoes": [1]}).write_parquet(other)
    assert refused(422, "validation_error", content=other.getvalue())["details"] == [
        {"field": "shoes", "message": "is no column of sums"}
    ]
    params = request["params"]
    assert refused(422, "validation_error", params={**params, "watermark": "yesterday"})["details"]
    refused(422, "rules_changed", params={**params, "fingerprint": "other"})
    ahead = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    refused(422, "older_sums", params={**params, "watermark": ahead})
    assert customer.data_of(f"{running}/sums")["sums_from"] is None


def test_inconsistent_sums_name_each_problem(customer: Customer, running: str) -> None:
    request = request_of(customer, running, converted=120)
    details = error_of(hand_in(customer, running, request), 422, "validation_error")["details"]
    assert [one["field"] for one in details] == ["cohort_conversions"]
    assert details[0]["message"].startswith("are more than the visitors of that day: variant 'var_")


def test_drafts_take_none_and_completed_tests_until_their_end(customer: Customer, experiment: str) -> None:
    error_of(hand_in(customer, experiment, request_of(customer, experiment)), 422, "invalid_transition")
    customer.post(f"{experiment}/start")
    customer.post(f"{experiment}/complete")
    assert hand_in(customer, experiment, request_of(customer, experiment)).status_code == 200
    assert customer.data_of(f"{experiment}/results")["sums_from"] == "lake"


def test_a_repeated_request_gets_its_first_answer(customer: Customer, running: str) -> None:
    request = request_of(customer, running)
    request["headers"] = {**request["headers"], "Idempotency-Key": "night-1"}
    first, again = (hand_in(customer, running, request) for _ in range(2))
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_night_is_of_the_first_sums_that_count_it(
    customer: Customer, running: str, services: Services, project: str
) -> None:
    hand_in(customer, running, request_of(customer, running))
    hand_in(customer, running, request_of(customer, running, converted=40))
    now = datetime.now(UTC)
    night = now.date()
    at_night = customer.get(f"{running}/results", as_of=night.isoformat()).json()["data"]
    goal = at_night["goals"][0]["id"]
    assert [one["conversions"] for one in at_night["variants"][goal]] == [20, 20]
    assert (at_night["sums_from"], at_night["run_id"]) == ("lake", None)
    present = customer.data_of(f"{running}/results")
    assert [one["conversions"] for one in present["variants"][goal]] == [40, 40]
    # The service keeps nothing of a night that the sums do not count yet.
    catalog = services.catalog
    found_project = catalog.projects.find(project.rpartition("/")[2])
    found = catalog.experiments.get(found_project.id, running.rpartition("/")[2])
    later = now + timedelta(days=1)
    services.nights.keep([found], found_project, [night, later.date()], run_id="run_1", now=later)
    error_of(customer.get(f"{running}/results", as_of=later.date().isoformat()), 422, "validation_error")
    assert customer.get(f"{running}/results", as_of=night.isoformat()).json()["data"] == at_night
