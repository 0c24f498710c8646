"""Work on a store, for processes of its own that can be killed.

Such a process kills itself at a `point` (0 to count the points, None to have none). It answers twice: when
the work begins, and with the number of points once it came to its end. Points are before and after each line
of the pipeline that writes. Jobs begin once the store is open.
"""

import asyncio
import linecache
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Final

import api.cli.app
import api.cli.imports.importing
import api.cli.imports.sources
import api.cli.report_table
import pipeline.imports.importer
import pipeline.imports.source_import  # noqa: F401  # imported before the fork
from pipeline.imports import event_import
from pipeline.ingest import loader
from pipeline.jobs import jobs, project_jobs
from pipeline.jobs.deletion import remove_deleted_projects
from pipeline.services import PipelineServices, open_pipeline
from pipeline.settings import Settings
from pipeline.sources import tables
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.spool import spool
from pipeline.webhooks.webhook_messages import deliver_messages
from tests.builders import NOW
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK
from tests.pipeline.working_store import a_purchase, a_working_store, an_event, an_exposure

# The next day: a night has passed, and every scheduled window.
LATER: Final = NOW + timedelta(days=1)
_WRITES: Final = re.compile(
    r"execute|commit|COMMIT|begin\(|checkpoint|CHECKPOINT|replace\(|rename|unlink|rmtree|mkdir|fsync"
    r"|write|insert|upgrade|append\(|publish\(|record\(|op\."
)
# The file that an import reads, beside the store.
IMPORTED: Final = "visitors.csv"
# Rows that it is read in at once.
CHUNK_ROWS: Final = 5_000
# The files that describe sources, beside the store.
SOURCES: Final = ("seen.toml", "orders.toml")
# The file in which a worker notes the requests that were answered, beside the store.
ACKNOWLEDGED: Final = "acknowledged"
Trace = Callable[[FrameType, str, Any], Any]
Work = Callable[[Path, "Points"], None]


class Points:
    """Points at which the process may kill itself: before and after each line that writes."""

    def __init__(self, point: int | None, answers: Connection) -> None:
        self._point = point
        self._answers = answers
        self.passed = 0

    def begin(self) -> None:
        """Tell that the work begins, and count its points, unless there are none."""
        self._answers.send(0)
        if self._point is not None:
            threading.settrace(self.trace_call)
            sys.settrace(self.trace_call)

    def end(self) -> None:
        """Tell the number of points."""
        sys.settrace(None)
        self._answers.send(self.passed)

    def trace_call(self, frame: FrameType, _event: str, _arg: object) -> Trace | None:
        if "/pipeline/" not in frame.f_code.co_filename or "/tests/" in frame.f_code.co_filename:
            return None
        wrote = False

        def trace_line(frame: FrameType, event: str, _arg: object) -> Trace:
            nonlocal wrote
            writes = event == "line" and _is_write(frame.f_code.co_filename, frame.f_lineno)
            if writes or wrote:
                self._pass()
            wrote = writes
            return trace_line

        return trace_line

    def _pass(self) -> None:
        self.passed += 1
        if self.passed == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


@cache
def _is_write(path: str, line: int) -> bool:
    return _WRITES.search(linecache.getline(path, line)) is not None


@contextmanager
def services_of(data_dir: Path) -> Iterator[PipelineServices]:
    with open_pipeline(Settings(data_dir=data_dir, fresh_read_seconds=60), clock=lambda: LATER) as services:
        yield services


def on_services(run: Callable[[PipelineServices], object]) -> Work:
    def work(data_dir: Path, points: Points) -> None:
        # The time is the same after each kill.
        vars(project_jobs)["FIRST_WAIT"] = timedelta(0)
        with services_of(data_dir) as services:
            points.begin()
            run(services)

    return work


def open_services(data_dir: Path, points: Points) -> None:
    points.begin()
    with services_of(data_dir):
        pass


def append_and_die(data_dir: Path, points: Points) -> None:
    """Acknowledge new events of every project, and leave them in the log of a killed process."""
    points.begin()
    with a_working_store(data_dir) as store:
        for project in store.catalog.projects.all():
            (experiment,) = store.catalog.experiments.of_project(project.id, ["running"])
            for batch in range(4):
                names = [f"new {batch} {number}" for number in range(250)]
                shown = [
                    an_exposure(experiment, number % 2, name, event_id=name)
                    for number, name in enumerate(names)
                ]
                bought = [
                    a_purchase(f"v{number}", minute=2, event_id=f"order {batch} {number}")
                    for number in range(50)
                ]
                store.write(project, *shown, *bought)
        os.kill(os.getpid(), signal.SIGKILL)


def acknowledge_and_load(data_dir: Path, points: Points) -> None:
    """Acknowledge and load events in many small files of the spool; note each request that is answered."""
    vars(spool)["SEGMENT_BYTES"] = 2000
    vars(loader)["GATHER_SECONDS"] = 0.01
    noted = os.open(data_dir.parent / ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    points.begin()
    with a_working_store(data_dir) as store:
        (project,) = store.catalog.projects.all()

        async def send(part: str, sender: int) -> None:
            for number in range(8):
                name = f"{os.getpid()}-{sender}-{part}-{number}"
                rows = [an_event("pageview", event_id=f"{name}/{one}") for one in range(1 + 5 * sender)]
                await store.ingest.submit(project.id, rows)
                os.write(noted, f"{name}\t{len(rows)}\n".encode())

        async def send_all(part: str) -> None:
            await asyncio.gather(*(send(part, sender) for sender in range(4)))

        asyncio.run(send_all("before the batch"))
        store.write(project, an_event("pageview", event_id=f"{os.getpid()}-bulk/0"))
        os.write(noted, f"{os.getpid()}-bulk\t1\n".encode())
        asyncio.run(send_all("after it"))
        store.ingest.load()
        asyncio.run(send_all("after a load"))


def delete_project(services: PipelineServices) -> None:
    gone = "prj_gone"
    with suppress(NotFoundError):
        services.catalog.projects.delete(services.catalog.projects.find(gone).account_id, gone, actor="test")
    remove_deleted_projects(services)


def move_by_schedule(services: PipelineServices) -> None:
    jobs.start_scheduled_experiments(services)
    jobs.complete_scheduled_experiments(services)


def deliver_all(services: PipelineServices) -> None:
    while services.catalog.deliveries.due(now=services.clock(), most=1):
        deliver_messages(services)


def send_messages(data_dir: Path, points: Points) -> None:
    # The endpoint is of this machine.
    os.environ["TRUELIFT_WEBHOOK_NETWORKS"] = LOOPBACK
    on_services(deliver_all)(data_dir, points)


def import_file(data_dir: Path, points: Points) -> None:
    # Several commits of a small file.
    vars(tables)["CHUNK_ROWS"] = CHUNK_ROWS
    points.begin()
    arguments = ["--variant", "arm", "--control", "A", "--goal", "revenue:revenue", "--visitor", "visitor"]
    sys.argv = ["truelift", "import", str(data_dir.parent / IMPORTED), *arguments]
    sys.argv += ["--timestamp", "at", "--data-dir", str(data_dir)]
    with suppress(SystemExit):
        api.cli.app.main()


def import_sources(data_dir: Path, points: Points) -> None:
    vars(tables)["CHUNK_ROWS"] = CHUNK_ROWS
    vars(event_import)["ROW_GROUP_ROWS"] = CHUNK_ROWS * 2 // 5
    points.begin()
    sys.argv = ["truelift", "import", "--data-dir", str(data_dir)]
    for name in SOURCES:
        sys.argv += ["--source", str(data_dir.parent / name)]
    with suppress(SystemExit):
        api.cli.app.main()


WORK: Final[dict[str, Work]] = {
    "append": append_and_die,
    "publication": on_services(jobs.refresh_results),
    "nightly rebuild": on_services(jobs.rebuild_after_midnight),
    "snapshots": on_services(jobs.write_snapshots),
    "checkpoint": on_services(jobs.checkpoint),
    "deletion": on_services(delete_project),
    "schedule": on_services(move_by_schedule),
    "opening": open_services,
    "messages": send_messages,
    "import": import_file,
    "source import": import_sources,
    "ingest": acknowledge_and_load,
}


def run(work: str, data_dir: Path, point: int | None, answers: Connection) -> None:
    """Do the work, and report the number of points that it passed."""
    # What the work prints is of no test.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    points = Points(point, answers)
    WORK[work](data_dir, points)
    points.end()
