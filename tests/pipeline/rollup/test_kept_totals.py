"""Kept totals of a project's visitors are those of all visitor rows, whatever came and went since."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from engine.design.experiment import Experiment
from engine.design.lifecycle import STARTED as STARTED_STATUSES
from engine.design.project import Project
from pipeline.erasure.person_erasure import remove_from_tables
from pipeline.events.hashing import hash64
from pipeline.rollup.kept_totals import counted_experiments
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import published, visitor_totals
from pipeline.store.warehouse.visitor_totals import Totals
from tests.builders import STARTED, a_goal
from tests.examples import seed_or, trials
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

MINUTES = 3_000
VISITORS = 60


@dataclass
class History:
    """A project of a service, and events of few visitors in any order."""

    service: RestartableService
    rng: np.random.Generator
    project: Project = field(init=False)
    experiments: list[Experiment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.service.now = STARTED + timedelta(minutes=MINUTES)
        self.project = self.store.add_project()
        for _ in range(3):
            self.start()
        self.write(200)

    @property
    def store(self) -> WorkingStore:
        return self.service.store

    def start(self) -> None:
        goals = (a_goal(), a_goal(id="goal_2", is_primary=False, config={"event_name": "sign_up"}))
        self.experiments.append(self.store.add_experiment(self.project, goals=goals))

    def write(self, visitors: int = 4) -> None:
        drawn = self.rng.integers(0, VISITORS, visitors).tolist()
        rows = [row for visitor in drawn for row in self.events_of(visitor)]
        self.store.write(self.project, *rows)

    def events_of(self, visitor: int) -> Iterator[EventRow]:
        minute = int(self.rng.integers(0, MINUTES))
        person: dict[str, Any] = {
            "minute": minute,
            **({"user_id": f"u{visitor // 2}"} if self.rng.random() < 0.1 else {}),
        }
        kind = self.rng.integers(0, 4)
        if kind < 2:
            shown = int(self.rng.integers(0, len(self.experiments)))
            variant = visitor % 2 if self.rng.random() < 0.9 else 0
            yield an_exposure(self.experiments[shown], variant, f"v{visitor}", **person)
        elif kind == 2:
            yield a_purchase(f"v{visitor}", **person)
        else:
            yield an_event("custom_event", f"v{visitor}", event_name="sign_up", **person)

    def erase(self) -> None:
        key = hash64(f"v{self.rng.integers(0, VISITORS)}")
        self.store.rollup.erase(
            self.project.id, key, is_user=False, keep_out=lambda _: None, remove=remove_from_tables
        )

    def complete(self) -> None:
        self.store.change(self.experiments[0], status="completed", completed_at=self.service.now)
        self.service.now += timedelta(minutes=2)
        self.store.rollup.refresh(self.project.id)

    def remove_old_events(self) -> None:
        self.store.rollup.remove_old_events(self.project.id, self.service.now)

    def swap_goals(self) -> None:
        first, second = self.store.catalog.experiments.get(self.project.id, self.experiments[1].id).goals
        is_first = first.is_primary
        goals = (replace(first, is_primary=not is_first), replace(second, is_primary=is_first))
        self.store.change(self.experiments[1], goals=goals)

    def delete(self) -> None:
        deleted = self.experiments.pop().id
        self.store.catalog.experiments.delete(self.project.id, deleted, lambda _: None, actor="test")


def totals_of(service: RestartableService, project: Project, minute: int) -> tuple[Totals | None, Totals]:
    """Return the kept totals, recent from a minute of the history on, and those of all visitor rows."""
    started = service.store.catalog.experiments.of_project(project.id, STARTED_STATUSES)
    first = int(STARTED.timestamp()) // 60 + minute
    with service.store.warehouse.transaction() as cursor:
        records = published.find_all(cursor, [one.id for one in started])
        counted = visitor_totals.count(cursor, counted_experiments(started, records), first=first)
        return visitor_totals.read(cursor, project.id, first=first), counted


# Each after some events.
STEPS = (
    *("write", "erase", "swap_goals", "start", "write", "complete", "remove_old_events"),
    *("write", "restart", "rebuild", "write", "delete"),
)


@pytest.mark.many(seconds=60)
def test_they_are_those_of_all_rows_after_every_change(service: RestartableService) -> None:
    rng = np.random.default_rng(seed_or(5))
    for _ in range(trials(1, 6)):
        history, found = History(service, rng), []
        for step in STEPS:
            history.write()
            if step == "restart":
                service.restart()
            elif step == "rebuild":
                service.store.rollup.rebuild(history.project.id)
            else:
                getattr(history, step)()
            service.store.rollup.refresh(history.project.id)
            kept, counted = totals_of(service, history.project, int(rng.integers(0, MINUTES)))
            assert kept == counted, step
            found.append(counted)
        assert any(0 < one.recent_visitors < one.visitors for one in found)


def test_events_change_them_without_a_count_of_all_rows(service: RestartableService) -> None:
    history = History(service, np.random.default_rng(1))
    service.store.rollup.refresh(history.project.id)
    first, _ = totals_of(service, history.project, 0)
    with patch.object(visitor_totals, "replace") as counting:
        # One starts, and is published before anybody sees it.
        history.start()
        service.store.rollup.refresh(history.project.id)
        for _ in range(5):
            history.write()
            service.store.rollup.refresh(history.project.id)
    assert not counting.called
    kept, counted = totals_of(service, history.project, 0)
    assert kept == counted != first


def test_a_visitor_whose_events_are_gone_counts_once_on_return(service: RestartableService) -> None:
    service.now, store = STARTED + timedelta(minutes=MINUTES), service.store
    project = store.add_project()
    ended, running = (store.add_experiment(project) for _ in range(2))
    store.write(project, an_exposure(ended), a_purchase(minute=5), an_exposure(running, 1, "v2"))
    store.change(ended, status="completed", completed_at=service.now)
    service.now += timedelta(minutes=2)
    store.rollup.remove_old_events(project.id, service.now)
    with store.warehouse.cursor() as cursor:
        assert published.list_sealed(cursor) == [ended.id]
    for visitor in ("v3", "v4", "v5", "v6"):
        store.write(project, an_exposure(running, 1, visitor))
    store.rollup.refresh(project.id)
    with patch.object(visitor_totals, "replace") as counting:
        store.write(project, an_exposure(running, minute=MINUTES))
        store.rollup.refresh(project.id)
    assert not counting.called
    assert totals_of(service, project, 9) == (Totals(6, 1, 1, 0),) * 2


def test_a_goal_that_was_not_counted_yet_has_no_place(service: RestartableService) -> None:
    store, project = service.store, service.store.add_project()
    counted = store.add_experiment(project)
    store.write(project, an_exposure(counted))
    store.rollup.refresh(project.id)
    (first,) = counted.goals
    added = replace(counted, goals=(replace(first, is_primary=False), a_goal(id="goal_9")))
    with store.warehouse.cursor() as cursor:
        records = published.find_all(cursor, [counted.id])
    found = counted_experiments([counted, added], records)
    assert [one.primary_goal for one in found] == [0, None]
