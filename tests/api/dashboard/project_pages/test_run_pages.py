"""Page of imports and runs: started, told in words, repeated, and a file of a form imported once."""

from pathlib import Path

import httpx2
from fastapi.testclient import TestClient

from api.dashboard.project_pages.sent_file import MOST_BYTES
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import fields_of
from tests.api.described_sources import describe_source
from tests.api.routes.imports.import_files import VISITORS, content_of, rows_of, uploads
from tests.waiting import wait_until

FILE = ("visits.csv", content_of(rows_of(30)) + b"x,A,maybe,2\n", "text/csv")


def asked_runs(customer: Customer, project: str) -> list[dict[str, object]]:
    """The runs of a project that were asked for, the newest first."""
    runs = customer.get(f"{project}/runs").json()["data"]
    return [run for run in runs if run["trigger"] == "api"]


def ended_runs(customer: Customer, project: str) -> list[dict[str, object]]:
    """The runs that were asked for, once all have ended."""
    wait_until(lambda: all(run["ended_at"] for run in asked_runs(customer, project)))
    return asked_runs(customer, project)


def upload(browser: TestClient, project: str, page: httpx2.Response, **typed: str) -> httpx2.Response:
    fields = {**fields_of(page), **VISITORS, **typed}
    return browser.post(f"{project}/runs/file", data=fields, files={"file": FILE})


def test_a_file_is_imported_once_with_its_rejected_rows_told(
    browser: TestClient, customer: Customer, project: str
) -> None:
    page = browser.get(f"{project}/runs")
    answers = [upload(browser, project, page, name="Of a file <b>") for _ in range(2)]
    assert [one.headers.get("location") for one in answers] == [f"{project}/runs?kind=import&started=yes"] * 2
    (run,) = ended_runs(customer, project)
    assert (run["status"], run["source"]) == ("done", "visits.csv")
    text = browser.get(f"{project}/runs").text
    for told in ("31 rows", "30 new", "1 rejected", "Line 32 of", "Its experiment"):
        assert told in text, told
    assert uploads(customer.services, project) == []


def test_what_is_wrong_with_a_file_is_said_and_what_was_typed_stays(
    browser: TestClient, customer: Customer, project: str
) -> None:
    page = browser.get(f"{project}/runs")
    refused = upload(browser, project, page, control="", goals="bought,", max_bad_share="many")
    assert refused.status_code == 422
    for field in ("goals", "max_bad_share"):
        assert f'id="problem-{field}"' in refused.text, field
    assert fields_of(refused)["visitor"] == "id"
    fields = fields_of(page)
    unnamed = browser.post(f"{project}/runs/file", data=fields, files={"file": ("visits.xlsx", b"x")})
    assert unnamed.status_code == 422
    assert "ends in .csv or .parquet" in unnamed.text
    assert asked_runs(customer, project) == []


def test_a_form_with_a_file_is_bounded_and_of_its_session(
    browser: TestClient, customer: Customer, project: str
) -> None:
    page, address = browser.get(f"{project}/runs"), f"{project}/runs/file"
    large = browser.post(address, data=fields_of(page), files={"file": ("a.csv", b"x" * MOST_BYTES)})
    assert large.status_code == 413
    assert "at most 8 MB" in large.text
    forged = {**fields_of(page), "form_token": "0" * 64}
    assert browser.post(address, data=forged, files={"file": FILE}).status_code == 403
    for content, kind in (
        (b"no boundary", "multipart/form-data"),
        (b"--b\r\n", "multipart/form-data; boundary=b"),
    ):
        assert browser.post(address, content=content, headers={"Content-Type": kind}).status_code in {
            403,
            422,
        }
    assert asked_runs(customer, project) == []


def test_a_described_source_that_failed_is_imported_again(
    browser: TestClient, customer: Customer, project: str, tmp_path: Path
) -> None:
    file = tmp_path / "visits.csv"
    describe_source(customer.services, "visits", project.rpartition("/")[2], file)
    describe_source(customer.services, "of_others", "prj_other", file)
    page = browser.get(f"{project}/runs")
    assert "of_others" not in page.text
    token = {"form_token": fields_of(page)["form_token"], "kind": "import"}
    address = f"{project}/runs"
    assert browser.post(address, data={**token, "source": "of_others"}).status_code == 422
    assert browser.post(address, data={**token, "source": "visits"}).status_code == 303
    assert ended_runs(customer, project)[0]["status"] == "failed"
    text = browser.get(address).text
    assert "there is no file" in text
    assert "Import again" in text
    file.write_bytes(content_of(rows_of(30)))
    assert browser.post(address, data={**token, "source": "visits"}).status_code == 303
    assert [run["status"] for run in ended_runs(customer, project)] == ["done", "failed"]
    assert "Import again" not in browser.get(f"{address}?status=done").text


def test_runs_are_listed_by_kind_and_state(browser: TestClient, customer: Customer, project: str) -> None:
    page = browser.get(f"{project}/runs")
    for kind in ("rebuild", "snapshot"):
        token = {"form_token": fields_of(page)["form_token"], "kind": kind}
        assert browser.post(f"{project}/runs", data=token).status_code == 303
    assert {run["status"] for run in ended_runs(customer, project)} == {"done"}
    assert "No such run is on record" in browser.get(f"{project}/runs").text
    assert "Rebuild" in browser.get(f"{project}/runs?kind=all").text
    assert "No such run" in browser.get(f"{project}/runs?kind=rebuild&status=failed").text
    assert browser.get(f"{project}/runs?kind=nothing").status_code == 422


def test_a_reading_key_sees_runs_and_no_forms(customer: Customer, project: str, sign_in: SignIn) -> None:
    describe_source(customer.services, "unseen_source", project.rpartition("/")[2])
    text = sign_in(customer.with_key("projects:read", "results:read").token).get(f"{project}/runs").text
    assert "Imports and runs" in text
    assert f'action="{project}/runs' not in text
    assert "unseen_source" not in text
