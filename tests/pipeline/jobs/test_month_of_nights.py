"""A month of nights: kills between any two writes, failures, days without the service, changed clocks."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import local_day
from pipeline.rollup.run import Rollup
from pipeline.snapshots.writer import Snapshots
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.webhooks import message_queue
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Warehouse
from tests.examples import seed_or, trials
from tests.pipeline.jobs.days_of_service import DAY, PERIODIC, RETENTION_DAYS, DaysOfService, Kill
from tests.pipeline.webhooks.receiving_endpoint import Endpoint, an_endpoint
from tests.pipeline.working_store import WorkingStore, now_of

# Clocks go forward on this day in Berlin.
CHANGE = date(2026, 3, 29)


@pytest.fixture
def month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DaysOfService]:
    kill = Kill()
    kill.install(monkeypatch, Database, "write")
    kill.install(monkeypatch, Warehouse, "transaction")
    with an_endpoint() as endpoint:
        month = DaysOfService(tmp_path, endpoint, np.random.default_rng(seed_or(5)), kill)
        monkeypatch.setattr(message_queue, "utc_now", lambda: month.now)
        for owner, work in ((Rollup, "rebuild"), (Rollup, "remove_old_events"), (Snapshots, "write")):
            month.install_failures(monkeypatch, owner, work)
        yield month


@pytest.mark.many(seconds=90)
def test_every_job_is_done_once_for_every_day_that_it_owes(month: DaysOfService) -> None:
    days = [CHANGE + number * DAY for number in range(-1, trials(2, 30))]
    month.now = datetime.combine(days[0] - DAY, time(12), UTC)
    month.set_up()
    # The day after the change of the clocks, and some later ones.
    down = {days[2], *(one for one in days[6:-2] if month.rng.random() < 0.15)}
    for day in days:
        if day not in down:
            month.failing = {month.broken.id} if day == days[0] else set()
            month.live_through(day, visitors=1200 if day == days[0] else 30)
    # Nothing is still to be tried again.
    month.now += timedelta(hours=2)
    with month.served() as store:
        month.poll(store)
        assert month.kills > len(days) / 4
        for project, bandit in zip(month.projects, month.bandits, strict=True):
            assert_periods(month, project)
            assert_nights(month, store, project, bandit)
            assert_moves(store, bandit)
            assert_events_are_of_the_last_days(month, store, project)
    assert_told_once(month.endpoint)


def assert_periods(month: DaysOfService, project: Project) -> None:
    """Every period in which a job could be done has it, each period once and in order."""
    for job in PERIODIC:
        done = month.done[job, project.id]
        assert done == sorted(set(done))
        assert month.owed[job, project.id] <= set(done), (job, project.timezone)


def assert_nights(
    month: DaysOfService, store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    """Every night is kept, also of days without the service, and each day had one run."""
    last = local_day(month.now, project.timezone)
    created = local_day(project.created_at, project.timezone)
    with store.warehouse.cursor() as cursor:
        kept = published.list_kept(cursor, experiment.id)
    expected = [created + number * DAY for number in range(1, (last - created).days + 1)]
    assert kept == expected[-project.keep_nights :]
    runs = store.catalog.runs.page(project.id, kind="rebuild", per_page=1000).items
    done = Counter(
        local_day(run.ended_at, project.timezone) for run in runs if run.status == "done" and run.ended_at
    )
    assert set(done.values()) == {1}
    publishers = {store.nights.find(experiment, project, day, now=month.now).run_id for day in kept}
    # A run that was killed between the nights and its end has published them, too.
    assert publishers <= {run.id for run in runs if run.status in {"done", "interrupted"}}


def assert_moves(store: WorkingStore, bandit: Experiment) -> None:
    """Weights move at most once a day."""
    moved = [epoch.started_at.date() for epoch in now_of(store, bandit).weight_epochs[1:]]
    assert moved
    assert len(moved) == len(set(moved))
    audited = [entry for entry in store.catalog.audit.of(bandit.id) if entry.actor.startswith("bandit")]
    assert len(audited) == len(moved)


def assert_events_are_of_the_last_days(month: DaysOfService, store: WorkingStore, project: Project) -> None:
    # Those of visitors in open experiments stay.
    assert store.rollup.remove_old_events(project.id, month.now - (RETENTION_DAYS + 1) * DAY) == 0


def assert_told_once(endpoint: Endpoint) -> None:
    """Each decision follows the one that was told before, whatever was sent again."""
    messages = {one.headers["webhook-id"]: json.loads(one.body)["data"] for one in endpoint.received}
    by_experiment: dict[str, list[tuple[str, str]]] = {}
    for one in messages.values():
        told = by_experiment.setdefault(one["experiment_id"], [])
        told.append((one["previous_recommendation"], one["recommendation"]))
    assert len(by_experiment) == 3
    for told in by_experiment.values():
        assert told[0][0] == "insufficient_data"
        assert all(before[1] == after[0] for before, after in pairwise(told))
