"""Runner: queued runs are carried out one at a time a project, recorded, and begun again."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import polars as pl
import pytest

from engine.design.project import Project
from pipeline.runs.run_ends import UNEXPECTED
from pipeline.runs.run_work import run_work
from pipeline.runs.runner import WORKERS, ReportProgress, Runner
from pipeline.sources.tables import UnreadableSourceError
from pipeline.store.catalog.runs.run_record import Run, RunResult
from pipeline.store.catalog.runs.run_repository import Runs
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure
from tests.waiting import wait_until


class Gate:
    """Work that waits until it is let through, and notes how many of it were under way at once."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.begun = threading.Semaphore(0)
        self.ran: list[str] = []
        self.under_way: set[str] = set()
        self.overlapped = False

    def __call__(self, run: Run, report: ReportProgress) -> RunResult:
        self.overlapped |= run.project_id in self.under_way
        self.under_way.add(run.project_id)
        report({"rows": 5})
        self.begun.release()
        assert self.opened.wait(60)
        self.under_way.discard(run.project_id)
        self.ran.append(run.id)
        return RunResult(events=1)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def runner(store: WorkingStore, gate: Gate) -> Iterator[Runner]:
    runner = Runner(store.catalog, {"snapshot": gate, "rollup": gate}, clock=lambda: NOW)
    yield runner
    gate.opened.set()
    runner.close()


def queued(store: WorkingStore, project: Project, number: int = 0) -> Run:
    at = NOW + timedelta(seconds=number)
    return store.catalog.runs.add(Run(project_id=project.id, kind="snapshot", trigger="api", created_at=at))


def status_of(store: WorkingStore, run: Run) -> str:
    return store.catalog.runs.get(run.project_id, run.id).status


def test_runs_of_a_project_follow_each_other_and_those_of_others_do_not_wait(
    store: WorkingStore, runner: Runner, gate: Gate
) -> None:
    one, other = store.add_project(), store.add_project()
    runs = [queued(store, one, 0), queued(store, one, 1), queued(store, other, 2)]
    for run in runs:
        runner.wake(run.project_id)
    assert gate.begun.acquire(timeout=60)
    assert gate.begun.acquire(timeout=60)
    assert [status_of(store, run) for run in runs] == ["running", "queued", "running"]
    assert store.catalog.runs.get(one.id, runs[0].id).progress == {"rows": 5}
    gate.opened.set()
    wait_until(lambda: all(status_of(store, run) == "done" for run in runs))
    assert not gate.overlapped
    assert gate.ran.index(runs[0].id) < gate.ran.index(runs[1].id)


def test_what_the_schedule_begins_is_never_queued(
    store: WorkingStore, runner: Runner, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Runs.add

    def add_and_die(runs: Runs, run: Run) -> Run:
        add(runs, run)
        raise SystemExit

    monkeypatch.setattr(Runs, "add", add_and_die)
    project = store.add_project()
    run = Run(project_id=project.id, kind="snapshot", trigger="schedule", created_at=NOW)
    with pytest.raises(SystemExit):
        runner.carry_out(run)
    store.catalog.runs.recover(now=NOW)
    assert status_of(store, run) == "interrupted"
    assert store.catalog.runs.projects_with_queued() == []


def test_projects_take_turns_however_long_the_queues_of_some_are(store: WorkingStore, gate: Gate) -> None:
    busy, last = [store.add_project() for _ in range(WORKERS)], store.add_project()
    for project in busy:
        for number in range(5):
            queued(store, project, number)
    runner = Runner(store.catalog, {"snapshot": gate}, clock=lambda: NOW)
    for project in busy:
        runner.wake(project.id)
        assert gate.begun.acquire(timeout=60)
    waiting = queued(store, last)
    runner.wake(last.id)
    gate.opened.set()
    wait_until(lambda: status_of(store, waiting) == "done")
    wait_until(lambda: len(gate.ran) == 5 * WORKERS + 1)
    runner.close()
    # Each worker may end the run at hand and begin another before it.
    assert gate.ran.index(waiting.id) <= 3 * WORKERS


def test_a_scheduled_refresh_leaves_a_project_with_a_run_under_way_alone(
    store: WorkingStore, project: Project, runner: Runner, gate: Gate
) -> None:
    run = queued(store, project)
    runner.wake(project.id)
    assert gate.begun.acquire(timeout=60)
    runner.refresh(project.id)
    assert gate.ran == []
    gate.opened.set()
    wait_until(lambda: status_of(store, run) == "done")


def test_a_failure_is_recorded_with_its_sentence_and_the_next_run_follows(
    store: WorkingStore, project: Project
) -> None:
    def fail(run: Run, report: ReportProgress) -> RunResult:
        report({"rows": 7})
        raise UnreadableSourceError("line 3:\n no variant")

    runner = Runner(store.catalog, {"snapshot": fail, "rollup": lambda *_: RunResult()}, clock=lambda: NOW)
    failed = queued(store, project)
    following = store.catalog.runs.add(
        Run(project_id=project.id, kind="rollup", trigger="api", created_at=NOW + timedelta(1))
    )
    runner.wake_all()
    wait_until(lambda: status_of(store, following) == "done")
    runner.close()
    found = store.catalog.runs.get(project.id, failed.id)
    assert (found.status, found.error, found.progress) == ("failed", "line 3: no variant", {"rows": 7})


def test_a_panic_of_a_library_fails_its_run_and_the_next_one_follows(
    store: WorkingStore, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    def give_up(run: Run, report: ReportProgress) -> RunResult:
        pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date).to_list()
        return RunResult()

    runner = Runner(store.catalog, {"snapshot": give_up, "rollup": lambda *_: RunResult()}, clock=lambda: NOW)
    failed = queued(store, project)
    following = store.catalog.runs.add(
        Run(project_id=project.id, kind="rollup", trigger="api", created_at=NOW + timedelta(1))
    )
    runner.wake(project.id)
    wait_until(lambda: status_of(store, following) == "done")
    runner.close()
    found = store.catalog.runs.get(project.id, failed.id)
    assert (found.status, found.error) == ("failed", UNEXPECTED)
    assert "out-of-range" in caplog.text


def test_what_follows_a_run_may_fail_and_is_called_where_the_project_is_deleted(
    store: WorkingStore, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    followed: list[str] = []

    def fail(run: Run) -> None:
        followed.append(run.id)
        raise OSError("read-only")

    def delete(run: Run, report: ReportProgress) -> RunResult:
        if len(followed) == 2:
            store.catalog.projects.delete(project.account_id, project.id, actor="test")
        return RunResult()

    runner = Runner(store.catalog, {}, clock=lambda: NOW)
    runner.add_work("snapshot", delete, fail)
    runs = [queued(store, project, number) for number in range(3)]
    runner.wake(project.id)
    wait_until(lambda: len(followed) == 3)
    runner.close()
    assert followed == [run.id for run in runs]
    assert "read-only" in caplog.text


def test_refreshes_are_recorded_where_they_have_news_and_equal_failures_once(
    store: WorkingStore, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = count()
    work = run_work(store.warehouse, store.rollup, store.snapshots)
    runner = Runner(store.catalog, work, clock=lambda: NOW + timedelta(seconds=next(seconds)))
    experiment = store.add_experiment(project)
    runner.refresh(project.id)
    store.write(project, an_exposure(experiment, 0, "a"), an_exposure(experiment, 1, "b"))
    for _ in range(3):
        runner.refresh(project.id)
    (run,) = store.catalog.runs.page(project.id).items
    assert (run.trigger, run.status, run.events, run.visitors) == ("schedule", "done", 2, 2)
    assert run.result == {"recounted": [experiment.id], "updated": []}

    def fail(*_arguments: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(store.rollup, "refresh", fail)
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            runner.refresh(project.id)
    assert [one.error for one in store.catalog.runs.page(project.id).items] == [UNEXPECTED, None]


def test_a_run_that_its_process_did_not_end_is_begun_again(tmp_path: Path) -> None:
    with a_working_store(tmp_path / "store") as store:
        project = store.add_project()
        left = store.catalog.runs.save(
            store.catalog.runs.add(
                Run(project_id=project.id, kind="rollup", trigger="api", created_at=NOW)
            ).started(now=NOW)
        )
    with a_working_store(tmp_path / "store") as store:
        assert status_of(store, left) == "queued"
        store.runner.wake_all()
        wait_until(lambda: status_of(store, left) == "done")
        assert store.catalog.runs.get(project.id, left.id).attempts == 2
