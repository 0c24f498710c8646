from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from inspect import get_annotations, isfunction
from pathlib import Path
from threading import Event

import pytest

from pipeline.jobs import jobs
from pipeline.jobs.jobs import JOBS, Job
from pipeline.jobs.scheduler import Scheduler
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_working_store

LIFECYCLE = {
    "start_scheduled_experiments",
    "complete_scheduled_experiments",
    "complete_at_visitor_limit",
    "complete_at_conversion_limit",
    "complete_with_a_winner",
    "complete_at_planned_sample",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def services(store: WorkingStore) -> PipelineServices:
    return store


def a_job(name: str, run: Callable[[PipelineServices], None]) -> Job:
    return Job(name, lambda _: 1, run)


def fail(_: PipelineServices) -> None:
    raise RuntimeError("out of order")


def succeed(_: PipelineServices) -> None:
    return


def test_every_job_of_the_service_runs(services: PipelineServices) -> None:
    scheduler = Scheduler(services)
    for job in JOBS:
        scheduler.run_now(job)
    assert set(scheduler.last_runs) == {job.name for job in JOBS}
    assert scheduler.failing == []


def test_every_job_that_is_written_is_scheduled_by_its_name() -> None:
    written = {
        name
        for name, function in vars(jobs).items()
        if isfunction(function)
        and not name.startswith("_")
        and list(get_annotations(function)) == ["services", "return"]
    }
    assert {job.name for job in JOBS} == written
    assert all(job.run.__name__ == job.name for job in JOBS)


def test_what_is_due_is_at_most_a_minute_late() -> None:
    seconds = {job.name: job.seconds(Settings()) for job in JOBS}
    assert all(seconds[name] <= 30 for name in LIFECYCLE)


def test_failing_job_is_visible_until_it_succeeds(
    services: PipelineServices, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = Scheduler(services, jobs=())
    scheduler.run_now(a_job("shaky", fail))
    scheduler.run_now(a_job("shaky", fail))
    scheduler.run_now(a_job("sound", succeed))
    assert scheduler.failing == ["shaky"]
    run = scheduler.last_runs["shaky"]
    assert (run.ended_at, run.failures, run.error) == (NOW, 2, "RuntimeError('out of order')")
    assert "job shaky failed; it is tried again" in caplog.text
    assert "job shaky failed, 2 times in a row; it is tried again" in caplog.text
    scheduler.run_now(a_job("shaky", succeed))
    assert scheduler.failing == []
    assert scheduler.last_runs["shaky"].error is None


def test_job_that_fails_is_tried_again_and_one_that_hangs_blocks_no_other(services: PipelineServices) -> None:
    released, tried_again, others = Event(), Event(), [Event() for _ in range(12)]
    tries = []

    def hang(_: PipelineServices) -> None:
        released.wait(30)

    def fail_once(_: PipelineServices) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError("once")
        tried_again.set()

    def tell(event: Event) -> Callable[[PipelineServices], None]:
        return lambda _: event.set()

    jobs = [a_job("hangs", hang), a_job("fails", fail_once)]
    jobs += [a_job(f"other {number}", tell(event)) for number, event in enumerate(others)]
    scheduler = Scheduler(services, jobs)
    scheduler.start()
    try:
        assert tried_again.wait(20)
        assert all(event.wait(20) for event in others)
    finally:
        released.set()
        scheduler.stop()


def test_a_job_that_is_turned_off_never_runs(services: PipelineServices) -> None:
    ran = Event()
    jobs = [
        Job("off", lambda settings: settings.snapshot_seconds, fail),
        a_job("on", lambda _: ran.set()),
    ]
    scheduler = Scheduler(replace(services, settings=Settings(snapshot_seconds=0)), jobs)
    scheduler.start()
    assert ran.wait(10)
    scheduler.stop()
    assert set(scheduler.last_runs) == {"on"}


def test_after_the_clock_was_set_back_jobs_run_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    times, has_run = [NOW], Event()
    with a_working_store(tmp_path / "clock", clock=lambda: times[-1]) as store:
        hourly = Job("hourly", lambda _: 3600, lambda _: has_run.set())
        scheduler = Scheduler(store, [hourly])
        scheduler.start()
        scheduler.follow_clock()
        assert not has_run.is_set()
        times.append(NOW - timedelta(hours=24))
        scheduler.follow_clock()
        assert has_run.wait(60)
        scheduler.stop()
    assert "the clock was set back by 86400 seconds" in caplog.text
