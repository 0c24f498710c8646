"""A kill in a job leaves every part of the store as it was before the job, or as it is after it."""

import signal
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from engine.design import lifecycle
from pipeline.jobs.jobs import write_snapshots
from pipeline.runs.night_work import NIGHTLY
from tests.builders import NOW, a_project, an_experiment
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure
from tests.resilience.kills import KillLoop, Workers
from tests.resilience.services import Service, a_service
from tests.resilience.store_parts import parts_of
from tests.waiting import wait_until

JOBS = ("publication", "nightly rebuild", "snapshots", "checkpoint", "deletion", "schedule", "opening")
PROJECTS = ("prj_kept", "prj_gone")
BEFORE, NEW = 600, 1000


def a_busy_store(data_dir: Path) -> str:
    """Fill a store with two projects, counted and copied, and missed windows; returns a key that reads."""
    with a_working_store(data_dir) as store:
        account, _, token = store.catalog.accounts.create("Acme", "owner@acme.example", "scale")
        for project_id in PROJECTS:
            _fill(store, account.id, project_id)
        write_snapshots(store)
        for project_id in PROJECTS:
            store.catalog.job_records.note_done(NIGHTLY, project_id, NOW.date().isoformat())
    return token


def _fill(store: WorkingStore, account_id: str, project_id: str) -> None:
    project = store.catalog.projects.create(
        a_project(id=project_id, account_id=account_id, sdk_key=f"pk_{project_id}"), actor="test"
    )
    running = an_experiment(id=f"exp_of_{project_id}", project_id=project_id)
    missed = an_experiment(
        id=f"missed_of_{project_id}",
        project_id=project_id,
        test_key="missed",
        status="scheduled",
        scheduled_start_at=NOW + timedelta(minutes=1),
        scheduled_end_at=NOW + timedelta(minutes=2),
    )
    store.catalog.experiments.create(project_id, lambda _: running, actor="test")
    store.catalog.experiments.create(project_id, lambda _: missed, actor="test")
    start = partial(lifecycle.start, now=running.created_at)
    experiment = store.catalog.experiments.change(project_id, running.id, start, actor="test")
    exposures = [an_exposure(experiment, number % 2, f"v{number}") for number in range(BEFORE)]
    orders = [a_purchase(f"v{number}", minute=1) for number in range(100)]
    store.write(project, *exposures, *orders)
    store.rollup.refresh(project_id)


def visitors_counted(service: Service, token: str, project_id: str) -> int:
    path = f"/api/v1/projects/{project_id}/experiments/exp_of_{project_id}/results/summary"
    summary = service.request("GET", path, headers={"Authorization": f"Bearer {token}"}).data["data"]
    return sum(variant["visitors"] for variant in summary["variants"])


@pytest.fixture
def survive(tmp_path: Path, workers: Workers) -> Callable[[str, int], None]:
    """A loop of kills of a job, at the end of which the service goes on with the store."""

    def run(job: str, kills: int) -> None:
        prepared = tmp_path / "prepared"
        token = a_busy_store(prepared)
        # What is to be counted, copied or moved is still in the log of a killed process.
        assert workers.run("append", prepared).status == -signal.SIGKILL
        store = KillLoop(workers, job, prepared, tmp_path, parts_of).survive(kills, seed=JOBS.index(job))
        kept = PROJECTS[:1] if job == "deletion" else PROJECTS
        with a_service(store, tmp_path / "log") as service:
            # Beside the jobs of a start, a read tells what was published before.
            expected = [BEFORE + NEW] * len(kept)
            wait_until(lambda: [visitors_counted(service, token, one) for one in kept] == expected)
        with a_working_store(store) as opened:
            assert [opened.rollup.rebuild(one).drifted for one in kept] == [()] * len(kept)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "kills"), [pytest.param(job, 8, marks=pytest.mark.long(seconds=30)) for job in JOBS]
)
def test_every_part_is_old_or_new_after_each_kill(
    survive: Callable[[str, int], None], job: str, kills: int
) -> None:
    survive(job, kills)
