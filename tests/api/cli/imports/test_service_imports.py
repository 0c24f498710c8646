"""`truelift import` beside the service: the same output as without it."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree
from threading import Thread
from typing import ClassVar

import polars as pl
import pytest

from api.cli.client.running_service import RunningService
from api.cli.console import CommandError
from api.cli.imports.service_imports import import_there
from api.cli.stores import new_project, opened_store
from pipeline.runs.command_imports import CommandImport
from pipeline.store.ownership.owner import Owner
from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process

# Stores are copied with their catalog.
pytestmark = pytest.mark.only_on("sqlite")
COLUMNS = ("--variant", "page", "--control", "A", "--goal", "bought", "--visitor", "id")


def write(file: Path, number: int) -> Path:
    ids = range(number)
    pl.DataFrame(
        {
            "id": [f"v{one}" for one in ids],
            "page": ["AB"[one % 2] for one in ids],
            "bought": [one % 3 // 2 for one in ids],
        }
    ).write_csv(file)
    return file


def describe(folder: Path, name: str, text: str) -> Path:
    (file := folder / f"{name}.toml").write_text(text)
    return file


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Two equal stores: one that commands own, and one that a service owns."""
    alone, beside = (tmp_path_factory.mktemp(name) / "store" for name in ("alone", "beside"))
    with opened_store(alone) as store:
        account, *_ = store.catalog.accounts.create("Shop", "a@shop.example")
        new_project(store.catalog, account.id, {"name": "Shop", "url": "https://shop.example"})
    copytree(alone, beside)
    with served_by_another_process(beside):
        yield alone, beside


class Answering(BaseHTTPRequestHandler):
    """A service that gives one answer, or none where the status is 0, and keeps what it was asked."""

    status = 0
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.status:
            self.send_response(self.status)
            self.send_header("Retry-After", "1000")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("status", "kept"), [(0, 1), (503, 1), (422, 0)])
def test_what_was_left_is_removed_only_where_no_run_can_be_queued(
    tmp_path: Path, status: int, kept: int
) -> None:
    with opened_store(tmp_path) as store:
        account, *_ = store.catalog.accounts.create("Shop", "a@shop.example")
        project = new_project(store.catalog, account.id, {"name": "Shop", "url": "https://shop.example"})
        settings = store.settings
    asked: list[str] = []
    handler = type("Once", (Answering,), {"status": status, "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        service = RunningService(settings, Owner.this_process(), "127.0.0.1", server.server_port)
        with pytest.raises(CommandError):
            import_there(service, project, CommandImport(project_id=project.id), "visits.csv")
        server.shutdown()
    left = [path.name for path in settings.command_imports_path.iterdir()]
    assert len(left) == kept
    (path,) = asked
    key = path.rpartition("&run_key=")[2]
    assert key.startswith("import_")
    assert left == [key][:kept]


def without_ids(text: str) -> str:
    where = r"see it at http://127\.0\.0\.1:\d+/projects/\S+|serve it with `[^`]+`\."
    return re.sub(rf"{where}|(exp|prj)_\w+|\S*/store|\d{{4}}-\d\d-\d\dT[0-9:.]+Z", "…", text)


@pytest.mark.parametrize("as_json", [pytest.param((), marks=pytest.mark.long(seconds=5)), ("--json",)])
def test_a_file_prints_the_same_beside_the_service(
    run: Run, folders: tuple[Path, Path], tmp_path: Path, as_json: tuple[str, ...]
) -> None:
    for number in (200, 400):
        file = write(tmp_path / f"visits{len(as_json)}.csv", number)
        name = ("--name", f"Visits {len(as_json)}")
        alone, beside = (
            run("import", file, "--data-dir", folder, *COLUMNS, *name, *as_json) for folder in folders
        )
        assert (alone.status, beside.status) == (0, 0), beside.err
        assert without_ids(beside.out) == without_ids(alone.out)
        assert "400 rows: 200 new, 200 already there" in beside.out or number == 200 or as_json
        assert "see it at http://127.0.0.1:" in beside.out or as_json
        listed = run("runs", "--data-dir", folders[1], "--json").json["runs"]
        assert listed[0]["source"] == name[1]


def test_a_table_without_rows_is_said_to_have_none(
    run: Run, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    (file := tmp_path / "emptied.csv").write_text("event_id,type,visitor_id,event_name,occurred_at\n")
    answers = [run("import", file, "--data-dir", folder) for folder in folders]
    assert [(ran.status, "nothing is new, or the table is empty" in ran.out) for ran in answers] == [
        (0, True),
        (0, True),
    ]


def test_errors_and_rejected_rows_are_the_same_beside_the_service(
    run: Run, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    (file := tmp_path / "bad.csv").write_text("id,page,bought\nv1,A,1\nv2,B,x\nv3,B,1\n")
    for more, status in (((), 0), (("--visitor", "person"), 1), (("--max-bad-share", "0.1"), 1)):
        alone, beside = (
            run("import", file, "--data-dir", folder, *COLUMNS, *more, "--name", "Bad") for folder in folders
        )
        assert (alone.status, beside.status) == (status, status), beside.err
        assert without_ids(beside.out) == without_ids(alone.out)
        rejected = [line for line in alone.err.splitlines() if line.startswith(("error", "line"))]
        assert rejected
        for line in rejected:
            assert line in beside.err
    _, beside_folder = folders
    assert list((beside_folder / "command-imports").iterdir()) == []
    missing = run("import", tmp_path / "none.csv", "--data-dir", beside_folder, *COLUMNS)
    assert (missing.status, "there is no file" in missing.err) == (1, True)


def test_sources_print_the_same_beside_the_service(
    run: Run, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    pl.DataFrame(
        {
            "user": [f"u{one}" for one in range(100)],
            "at": ["2026-01-01 12:00:00"] * 100,
            "group": ["AB"[one % 2] for one in range(100)],
        }
    ).write_csv(tmp_path / "seen.csv")
    pl.DataFrame({"user": ["u1", "u2"], "at": ["2026-01-02"] * 2}).write_csv(tmp_path / "orders.csv")
    exposures = describe(
        tmp_path,
        "seen",
        'kind = "exposures"\nlocation = "seen.csv"\nexperiment = "Checkout"\n'
        '[columns]\nvisitor = "user"\ntimestamp = "at"\nvariant = "group"\n'
        '[[experiments]]\nname = "Checkout"\ncontrol = "A"\n'
        'goals = [{name = "Order", goal_type = "custom_event", config = {event_name = "order"}}]\n',
    )
    orders = describe(
        tmp_path,
        "orders",
        'kind = "events"\nlocation = "${FOLDER}/orders.csv"\nevent = "order"\n'
        '[columns]\nvisitor = "user"\ntimestamp = "at"\n',
    )
    given = ("--source", exposures, "--source", orders)
    unset = [run("import", *given, "--data-dir", folder) for folder in folders]
    assert {one.status for one in unset} == {4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLDER", str(tmp_path))
        for as_json in ((), ("--json",)):
            alone, beside = (run("import", *given, "--data-dir", folder, *as_json) for folder in folders)
            assert (alone.status, beside.status) == (0, 0), beside.err
            assert without_ids(beside.out) == without_ids(alone.out)
    broken = describe(tmp_path, "gone", orders.read_text().replace("orders.csv", "gone.csv"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLDER", str(tmp_path))
        # Before the orders, which are imported all the same.
        alone, beside = (
            run("import", "--source", broken, *given, "--data-dir", folder) for folder in folders
        )
    assert (alone.status, beside.status) == (4, 4)
    assert without_ids(beside.out) == without_ids(alone.out)
    assert [line.partition(":")[0] for line in alone.out.splitlines()[:2]] == ["seen", "orders"]
    assert alone.err.splitlines()[-2:] == beside.err.splitlines()[-2:]
    assert "error 1 of 3 sources failed: gone; verdicts that need them wait" in alone.err
