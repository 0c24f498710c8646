"""No read waits for a long job, at whichever of its steps that is."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest

from pipeline.rollup import run as rollup_runs
from pipeline.rollup import turns
from pipeline.rollup.result_digest import ResultDigest
from pipeline.rollup.result_tables import ResultTables
from pipeline.snapshots import writer as snapshot_writer
from tests.api.customers import Customer
from tests.api.operations import OPERATIONS
from tests.api.shops import Shop

EARLIER = datetime(2020, 1, 1, tzinfo=UTC)
# Longer than any read takes on a busy machine: only a read that waits for the job does not end.
_PATIENCE_SECONDS = 60

# Whose function is held, in the order of a job's steps.
STEPS: dict[str, list[tuple[Any, str]]] = {
    "rebuild": [
        (rollup_runs, "newest_seq"),
        (rollup_runs, "count_and_publish"),
        (ResultDigest, "take"),
        (ResultTables, "recount"),
        (ResultTables, "publish"),
    ],
    "removal of old events": [(rollup_runs, "remove_old_events")],
    "snapshot": [(snapshot_writer, "write_experiment"), (snapshot_writer, "write_manifest")],
}
# Steps in which a job has, one after the other, all that a read could wait for; shares hold the others too.
ALWAYS = {"count_and_publish", "publish", "remove_old_events", "write_manifest"}
HELD = [
    pytest.param(
        job,
        *step,
        id=f"{job}, {step[1]}",
        marks=() if step[1] in ALWAYS else pytest.mark.long(seconds=2),
    )
    for job, steps in STEPS.items()
    for step in steps
]


def reads_of(project: str, experiment: str) -> Iterator[str]:
    """Every read of the API of a project or an experiment, but those of single runs, webhooks and metrics."""
    for operation in OPERATIONS:
        path = operation.path.removeprefix("/api/v1")
        path = path.replace("/projects/{project_id}/experiments/{id}", experiment)
        path = path.replace("/projects/{project_id}", project).replace("/projects/{id}", project)
        if operation.method == "GET" and path.startswith("/projects") and "{" not in path:
            yield path


@contextmanager
def held(owner: Any, name: str, job: Callable[[], object]) -> Iterator[Future[object]]:
    """Run a job in a thread, which stops as it first calls the function, until the end of the block."""
    reached, ended = Event(), Event()
    function = getattr(owner, name)

    def holding(*args: Any, **kwargs: Any) -> Any:
        reached.set()
        ended.wait()
        return function(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(owner, name, staticmethod(holding) if owner is ResultDigest else holding)
        running = pool.submit(job)
        try:
            assert reached.wait(_PATIENCE_SECONDS)
            yield running
        finally:
            ended.set()
        running.result()


@pytest.mark.parametrize(("job", "owner", "name"), HELD)
def test_no_read_waits_for_a_long_job(  # noqa: PLR0917 # fixtures and parameters
    customer: Customer,
    project: str,
    experiment: str,
    job: str,
    owner: Any,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop, services = Shop.opened_by(customer, project, experiment), customer.services
    jobs: dict[str, Callable[[], object]] = {
        "rebuild": lambda: services.rollup.rebuild(shop.project_id),
        "removal of old events": lambda: services.rollup.remove_old_events(shop.project_id, EARLIER),
        "snapshot": lambda: services.snapshots.write(shop.project_id),
    }

    def come(visitor: str) -> None:
        exposure = shop.exposure(f"e-{visitor}", visitor_id=visitor)
        answer = customer.post("/sdk/track", {"project_id": shop.project_id, "batch": [exposure]})
        assert answer.json()["accepted"] == 1

    def visitors() -> Any:
        return customer.data_of(f"{experiment}/results/summary")["variants"][0]["visitors"]

    def without_end(runs: tuple[Future[object], ...], **options: Any) -> object:
        # A read's own time is not what ends its waiting.
        ended = wait(runs, **options | {"timeout": _PATIENCE_SECONDS})
        assert ended.done
        return ended

    come("v1")
    assert visitors() == 1
    come("v2")
    reads = list(reads_of(project, experiment))
    assert {f"{experiment}/results", f"{project}/stats"} <= {*reads}
    with held(owner, name, jobs[job]) as running, ThreadPoolExecutor(1) as reader:
        monkeypatch.setattr(turns, "wait", without_end)
        for path in reads:
            answer = reader.submit(customer.get, path).result(timeout=_PATIENCE_SECONDS)
            assert answer.status_code == 200, path
        assert not running.done()
        monkeypatch.undo()
    # What came before the job, or meanwhile, is counted once it has ended.
    assert visitors() == 2


def test_a_read_waits_for_a_short_job_to_count_what_has_come(
    customer: Customer, project: str, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, rollup = Shop.opened_by(customer, project, experiment), customer.services.rollup
    waits = Event()

    def waiting(runs: tuple[Future[object], ...], **options: Any) -> object:
        waits.set()
        return wait(runs, **options | {"timeout": _PATIENCE_SECONDS})

    monkeypatch.setattr(turns, "SHORT_SECONDS", 3600)
    monkeypatch.setattr(turns, "wait", waiting)
    batch = [shop.exposure("e-v1")]
    assert (
        customer.post("/sdk/track", {"project_id": shop.project_id, "batch": batch}).json()["accepted"] == 1
    )
    with ThreadPoolExecutor(1) as reader:
        with rollup.pause():
            read = reader.submit(customer.data_of, f"{experiment}/results/summary")
            assert waits.wait(_PATIENCE_SECONDS)
        assert read.result(_PATIENCE_SECONDS)["variants"][0]["visitors"] == 1
