"""Commands `rollup` and `runs`: exit statuses, and the same with the service as without it."""

import signal
from contextlib import closing, nullcontext
from pathlib import Path
from threading import Event

import duckdb
import polars as pl
import pytest
from starlette.middleware.base import RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response

from api.app import create_app
from api.cli.runs import DRIFT, FAILED, STOPPED_WAITING
from api.cli.stores import new_project, opened_store
from api.services import open_services
from pipeline.runs.runner import ReportProgress
from pipeline.settings import Settings
from pipeline.store.catalog.runs.run_record import Run as RunRecord
from pipeline.store.catalog.runs.run_record import RunResult
from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process
from tests.api.serving import served
from tests.forked import start_command


@pytest.fixture
def experiment(run: Run, tmp_path: Path, account: dict[str, str]) -> str:
    """An imported experiment in the store; its id."""
    file = tmp_path / "visits.csv"
    pl.DataFrame({"page": ["A", "B"] * 50, "bought": [1, 0, 0, 1] * 25}).write_csv(file)
    columns = ("--variant", "page", "--control", "A", "--goal", "bought")
    imported = run("import", file, "--data-dir", tmp_path, *columns, "--json")
    return str(imported.json["experiment_id"])


def damage(data_dir: Path, experiment_id: str) -> None:
    with closing(duckdb.connect(data_dir / "warehouse.duckdb")) as warehouse:
        warehouse.execute(f'UPDATE "aggregates_{experiment_id}" SET visitors = 7')  # noqa: S608 (an id of our own)


def break_events(data_dir: Path, project_id: str) -> None:
    with closing(duckdb.connect(data_dir / "warehouse.duckdb")) as warehouse:
        warehouse.execute(f'ALTER TABLE "events_{project_id}" DROP COLUMN occurred_at')


def test_an_import_is_listed(run: Run, tmp_path: Path, experiment: str) -> None:
    (imported,) = run("runs", "--data-dir", tmp_path, "--kind", "import", "--json").json["runs"]
    assert (imported["trigger"], imported["status"]) == ("command_line", "done")
    assert imported["source"] == "visits.csv"
    assert imported["result"]["experiment_ids"] == [experiment]


def test_a_rollup_ends_with_0_done_3_drift_and_4_failed(run: Run, tmp_path: Path, experiment: str) -> None:
    done = run("rollup", "--data-dir", tmp_path)
    assert (done.status, "visits" in done.out, "up to date already" in done.out) == (0, True, True)
    damage(tmp_path, experiment)
    drifted = run("rollup", "--data-dir", tmp_path, "--full", "--json")
    assert (drifted.status, drifted.json["status"]) == (DRIFT, "drift")
    assert drifted.json["runs"][0]["drift"] == [experiment]
    again = run("rollup", "--data-dir", tmp_path, "--full")
    assert (again.status, "1 counted from the first event on" in again.out) == (0, True)
    (project_id,) = {one["project_id"] for one in drifted.json["runs"]}
    break_events(tmp_path, project_id)
    failed = run("rollup", "--data-dir", tmp_path, "--full")
    assert (failed.status, "failed: " in failed.out) == (FAILED, True)
    listed = run("runs", "--data-dir", tmp_path, "--json").json["runs"]
    assert [one["status"] for one in listed] == ["failed", "done", "drift", "done", "done"]
    assert {one["trigger"] for one in listed} == {"command_line"}
    assert failed.out.count("\n") == 1


def test_the_service_carries_out_what_a_command_asks_for(run: Run, tmp_path: Path, experiment: str) -> None:
    damage(tmp_path, experiment)
    with served_by_another_process(tmp_path):
        drifted = run("rollup", "--data-dir", tmp_path, "--full", "--json")
        assert (drifted.status, drifted.json["runs"][0]["drift"]) == (DRIFT, [experiment])
        done = run("rollup", "--data-dir", tmp_path)
        assert (done.status, "up to date already" in done.out) == (0, True)
        listed = run("runs", "--data-dir", tmp_path, "--kind", "rebuild")
        assert (listed.status, "drift" in listed.out, "rollup" in listed.out) == (0, True, False)
        assert run("rollup", "--data-dir", tmp_path, "--project", "prj_other").status == 1


def test_a_night_checks_what_is_stored_and_says_what_it_counted(
    run: Run, tmp_path: Path, experiment: str
) -> None:
    for expected in ("an earlier full count", "checked: all is as it was counted"):
        night = run("rollup", "--data-dir", tmp_path, "--night")
        assert (night.status, expected in night.out) == (0, True)
    damage(tmp_path, experiment)
    night = run("rollup", "--data-dir", tmp_path, "--night", "--json")
    assert (night.status, night.json["runs"][0]["drift"]) == (DRIFT, [experiment])
    result = night.json["runs"][0]["result"]
    assert (result["count"], result["reason"], experiment in result["why"]) == ("whole", "sums", True)
    listed = run("runs", "--data-dir", tmp_path, "--kind", "rebuild").out
    assert [text in listed for text in ("sums", "checked", "first")] == [True] * 3
    assert run("rollup", "--data-dir", tmp_path, "--night", "--full").status == 1


def test_the_service_skips_projects_of_an_account_that_has_ended(
    run: Run, tmp_path: Path, experiment: str, account: dict[str, str]
) -> None:
    where = ("--data-dir", tmp_path)
    run("account", "update", *where, "--account", account["account_id"], "--subscription-status", "canceled")
    with served_by_another_process(tmp_path):
        skipped = run("rollup", *where)
        assert (skipped.status, "skipped: " in skipped.out, "canceled" in skipped.out) == (0, True, True)
        of_json = run("rollup", *where, "--json")
    (one,) = of_json.json["runs"]
    assert (of_json.status, of_json.json["status"], one["status"], one["id"]) == (0, "done", "skipped", None)
    (done,) = run("rollup", *where, "--json").json["runs"]
    assert one.keys() == done.keys()


def test_runs_of_several_projects_are_listed_newest_first(
    run: Run, tmp_path: Path, account: dict[str, str]
) -> None:
    with opened_store(tmp_path) as store:
        fields: dict[str, object] = {"url": "https://shop.example"}
        for name in ("One", "Two"):
            new_project(store.catalog, account["account_id"], {**fields, "name": name})
    for _ in range(2):
        assert run("rollup", "--data-dir", tmp_path, "--full").status == 0
    listed = run("runs", "--data-dir", tmp_path, "--json").json["runs"]
    times = [one["created_at"] for one in listed]
    assert (len(times), times) == (4, sorted(times, reverse=True))
    assert listed[0]["project_id"] == listed[2]["project_id"] != listed[1]["project_id"]


def test_a_command_that_is_interrupted_leaves_the_run_to_the_service(tmp_path: Path, experiment: str) -> None:
    followed, opened = Event(), Event()

    def wait(_run: RunRecord, _report: ReportProgress) -> RunResult:
        assert opened.wait(60)
        return RunResult()

    settings = Settings(data_dir=tmp_path)
    with open_services(settings) as services:
        services.runner.add_work("rollup", wait)
        app = create_app(settings, nullcontext(services))

        @app.middleware("http")
        async def note_follower(request: Request, call_next: RequestResponseEndpoint) -> Response:
            if request.method == "GET" and "/runs/run_" in request.url.path:
                followed.set()
            return await call_next(request)

        with served(app) as client:
            services.lock.note_address(str(client.base_url))
            rollup = start_command("rollup", "--data-dir", str(tmp_path), log=tmp_path / "log")
            assert followed.wait(60)
            rollup.send_signal(signal.SIGINT)
            assert rollup.wait() == STOPPED_WAITING
            assert "The service goes on with run_" in (tmp_path / "log").read_text()
            opened.set()
